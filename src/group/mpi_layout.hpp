// SPDX-License-Identifier: Apache-2.0
// The layout that an MPI datatype and a count describe. The program may free its datatype before
// the request is matched, so what MPI alone can take apart is held until the layout ends.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>

#include "base/no_copy.hpp"
#include "group/datatype_shape.hpp"
#include "group/layout.hpp"

namespace penstock::group {

class MpiLayout final : public Layout, private base::NoCopy {
 public:
  // Calls MPI, as the caller of the init function may. Throws base::Error(mpi).
  MpiLayout(MPI_Datatype datatype, MPI_Count count);
  // Any thread, also after MPI_Finalize: what is held is freed later, by a thread that may call
  // MPI.
  ~MpiLayout() override;

  bool contiguous() const noexcept override { return contiguous_; }
  std::int64_t lowest() const noexcept override { return lowest_; }
  const std::shared_ptr<const datatype::Segments>& segments() const noexcept override {
    return segments_;
  }
  datatype::Signature signature() const override;
  // Of the same elements as the program's, where it is not contiguous and there are no segments.
  MPI_Datatype datatype() const noexcept { return datatype_; }
  MPI_Count count() const noexcept { return count_; }
  std::size_t bytes() const noexcept { return bytes_; }  // count times the datatype's size
  // Why no message can be like that; empty: one can. The others are without meaning then.
  const std::string& refusal() const noexcept { return refusal_; }

  // Frees the datatypes whose layouts are gone. Called from calls of the program that may call MPI
  // anyway.
  static void free_unused() noexcept;

 private:
  void hold(MPI_Datatype datatype);
  // `segments`: of one element.
  void flatten(std::shared_ptr<const datatype::Segments> segments, MPI_Count extent);

  ShapePointer shape_;  // of one element
  MPI_Datatype datatype_;
  MPI_Count count_;
  std::size_t bytes_ = 0;
  std::string refusal_;
  bool held_ = false;
  bool contiguous_ = false;
  std::int64_t lowest_ = 0;
  std::shared_ptr<const datatype::Segments> segments_;
};

}  // namespace penstock::group
