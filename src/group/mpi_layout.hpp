// SPDX-License-Identifier: Apache-2.0
// The layout that an MPI datatype and a count describe. The program may free its datatype before
// the request is matched, so a derived one is duplicated.
#pragma once

#include <mpi.h>

#include <cstddef>

#include "base/no_copy.hpp"
#include "group/layout.hpp"

namespace penstock::group {

class MpiLayout final : public Layout, private base::NoCopy {
 public:
  // Calls MPI, as the caller of the init function may. Throws base::Error(mpi).
  MpiLayout(MPI_Datatype datatype, MPI_Count count);
  // Any thread, also after MPI_Finalize: the duplicate is freed later, by a thread that may call
  // MPI.
  ~MpiLayout() override;

  bool contiguous() const noexcept override { return contiguous_; }
  MPI_Datatype datatype() const noexcept { return datatype_; }
  MPI_Count count() const noexcept { return count_; }
  std::size_t bytes() const noexcept { return bytes_; }  // count times the datatype's size
  // Whether it is too large for bytes(), which is 0 then, and for MPI's own counts.
  bool too_large() const noexcept { return too_large_; }

  // Frees the duplicates whose layouts are gone. Called from calls of the program that may call MPI
  // anyway.
  static void free_unused() noexcept;

 private:
  MPI_Datatype datatype_;
  MPI_Count count_;
  std::size_t bytes_ = 0;
  bool too_large_ = false;
  bool duplicated_ = false;
  bool contiguous_ = false;
};

}  // namespace penstock::group
