// SPDX-License-Identifier: Apache-2.0
// How a message's bytes lie in its buffer, as the MPI datatype says, without its type: see
// group/mpi_layout.hpp.
#pragma once

#include <cstdint>
#include <memory>

#include "datatype/segments.hpp"
#include "datatype/signature.hpp"

namespace penstock::group {

class Layout {
 public:
  virtual ~Layout() = default;
  // All bytes from the first one's address on, without gaps.
  virtual bool contiguous() const noexcept = 0;
  // From the address of the program's buffer to that of the lowest byte.
  virtual std::int64_t lowest() const noexcept = 0;
  // From the lowest byte on. Null: contiguous, or MPI alone knows.
  virtual const std::shared_ptr<const datatype::Segments>& segments() const noexcept = 0;
  // What elements the message is of.
  virtual datatype::Signature signature() const = 0;
};

}  // namespace penstock::group
