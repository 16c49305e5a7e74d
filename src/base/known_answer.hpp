// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace penstock::base {

// A yes or no about its owner that is kept once it has been found. Any thread may ask; two may both
// find it. It equals any other, so that owners compare by what they are. A copy starts without the
// answer, as owners are mostly copied to be changed.
class KnownAnswer {
 public:
  KnownAnswer() = default;
  KnownAnswer(const KnownAnswer&) noexcept {}
  KnownAnswer& operator=(const KnownAnswer&) noexcept {
    answer_.store(unknown, std::memory_order_relaxed);
    return *this;
  }
  bool operator==(const KnownAnswer&) const noexcept { return true; }

  // `find` gives the answer. Relaxed: the answer is all that one thread learns of another.
  template <class Find>
  bool get(Find find) {
    signed char answer = answer_.load(std::memory_order_relaxed);
    if (answer == unknown) {
      answer = find() ? 1 : 0;
      answer_.store(answer, std::memory_order_relaxed);
    }
    return answer == 1;
  }

 private:
  static constexpr signed char unknown = -1;
  std::atomic<signed char> answer_{unknown};
};

}  // namespace penstock::base
