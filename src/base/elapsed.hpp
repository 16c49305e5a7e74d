// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

namespace penstock::base {

// How long something lasts that polls alone know of: the first question begins it.
class Elapsed {
 public:
  bool exceeds(std::chrono::nanoseconds limit) noexcept {
    const auto now = std::chrono::steady_clock::now();
    if (!began_) began_ = now;
    return now - *began_ > limit;
  }
  void reset() noexcept { began_.reset(); }

 private:
  std::optional<std::chrono::steady_clock::time_point> began_;
};

}  // namespace penstock::base
