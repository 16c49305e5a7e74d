// SPDX-License-Identifier: Apache-2.0
// How a buffer's bytes lie in memory, as the MPI datatype says, without its type: see
// group/mpi_layout.hpp.
#pragma once

namespace penstock::group {

class Layout {
 public:
  virtual ~Layout() = default;
  // Count * size bytes from the buffer's address on, no gaps.
  virtual bool contiguous() const noexcept = 0;
};

}  // namespace penstock::group
