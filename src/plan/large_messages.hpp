// SPDX-License-Identifier: Apache-2.0
// From some size on MPI's messages move faster when the progress thread polls beside a worker.
// Smaller ones do not: there the thread only takes a core from the worker, or from the peer
// (docs/performance.md).
#pragma once

#include <cstddef>

namespace penstock::plan {

class LargeMessages {
 public:
  void begin(std::size_t bytes) noexcept {
    last_is_large_ = is_large(bytes);
    if (last_is_large_) ++under_way_;
  }
  void end(std::size_t bytes) noexcept {
    if (is_large(bytes)) --under_way_;
  }
  // Also between two large ones: a thread that rests would sleep for 100 us.
  bool expected() const noexcept { return under_way_ > 0 || last_is_large_; }

 private:
  static bool is_large(std::size_t bytes) noexcept { return bytes >= std::size_t{512} << 10; }

  std::size_t under_way_ = 0;
  bool last_is_large_ = false;
};

}  // namespace penstock::plan
