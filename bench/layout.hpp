// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace penstock::bench {

// How a message lies: in rows of `row` bytes, each followed by a gap of `gap` bytes; `row` 0:
// without gaps.
struct Layout {
  std::size_t row = 0;
  std::size_t gap = 0;

  bool has_gaps() const { return row > 0; }
  std::size_t stride() const { return row + gap; }
  // The bytes of a buffer for a message of so many.
  std::size_t reach(std::size_t message) const {
    return has_gaps() ? message / row * stride() : message;
  }
};

}  // namespace penstock::bench
