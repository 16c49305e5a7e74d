// SPDX-License-Identifier: Apache-2.0
// What a persistent request is made with: a datatype and a count that fits into an int.
#pragma once

#include <mpi.h>

#include "base/no_copy.hpp"
#include "transport/message.hpp"

namespace penstock::proxy {

class Elements : private base::NoCopy {
 public:
  explicit Elements(const transport::Message& message);  // throws base::Error
  ~Elements();

  MPI_Datatype type() const noexcept { return type_; }
  int count() const noexcept { return count_; }
  // Bytes without gaps: those of the buffer, or of a copy that we make (plan/packed.hpp). MPI is
  // given the program's datatype where we do not know how it lies, or its memory is a GPU's.
  bool contiguous() const noexcept { return contiguous_; }
  // What MPI is to be given for a message whose lowest byte is there.
  void* origin(void* lowest) const noexcept;

 private:
  void combine(MPI_Datatype type, std::size_t count);

  MPI_Datatype type_ = MPI_BYTE;
  int count_ = 0;
  bool contiguous_ = true;
  bool owned_ = false;
  std::shared_ptr<const group::Layout> layout_;  // keeps the datatype
};

}  // namespace penstock::proxy
