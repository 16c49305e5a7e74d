// SPDX-License-Identifier: Apache-2.0
// MPI moves a large message a piece at each look. A worker that slept between two looks would take
// several times as long (docs/performance.md), so while large ones are under way it looks often.
#pragma once

#include <cstddef>

namespace penstock::plan {

class LargeMessages {
 public:
  void begin(std::size_t bytes) noexcept {
    if (is_large(bytes)) ++under_way_;
  }
  void end(std::size_t bytes) noexcept {
    if (is_large(bytes)) --under_way_;
  }
  int passes_at_once() const noexcept { return under_way_ > 0 ? 32 : 1; }

 private:
  static bool is_large(std::size_t bytes) noexcept { return bytes >= std::size_t{512} << 10; }

  std::size_t under_way_ = 0;
};

}  // namespace penstock::plan
