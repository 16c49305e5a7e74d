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
  // Bytes, those of the buffer or of a copy without gaps (plan/packed.hpp); else the program's
  // datatype, which MPI alone can take apart.
  bool as_bytes() const noexcept { return as_bytes_; }

 private:
  void combine(MPI_Datatype type, std::size_t count);

  MPI_Datatype type_ = MPI_BYTE;
  int count_ = 0;
  bool as_bytes_ = true;
  bool owned_ = false;
  std::shared_ptr<const group::Layout> layout_;  // keeps the datatype
};

}  // namespace penstock::proxy
