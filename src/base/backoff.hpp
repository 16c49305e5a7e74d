// SPDX-License-Identifier: Apache-2.0
// How a thread of ours waits for memory to change: spin, then yield, then sleep in growing steps.
// Two workers bound to one core would not finish without the yield.
#pragma once

#include <chrono>
#include <cstdint>

namespace penstock::base {

// How long the n-th sleep of a wait is, from 0: 1 us doubling to 100 us, and in proportion longer
// where more than four threads sleep so, since the wake-ups of hundreds would fill the cores that
// what they wait for needs.
std::chrono::microseconds sleep_step(std::uint64_t number, int sleepers) noexcept;

class Backoff {
 public:
  // `spin` 0: there are more threads than cores, so even the first poll that finds nothing yields.
  // `gives_way`: this is one of many threads that wait for something, not one that brings it, and
  // sleeps longer the more there are.
  explicit Backoff(std::chrono::microseconds spin, bool gives_way = false) noexcept
      : spin_(spin), bare_end_(spin.count() > 0 ? bare_polls : 0), gives_way_(gives_way) {}

  // One poll that finds nothing. The first few hundred return at once: the processor's pause
  // instruction costs longer than a cache line takes to come from another core. Spinning makes no
  // system call; the clock is read every 16 polls of its slower part.
  void pause() noexcept {
    if (++polls_ > bare_end_) [[unlikely]]
      slow_pause();
  }
  void reset() noexcept {
    polls_ = 0;
    spin_end_ = never;
  }
  bool spinning() const noexcept { return spin_.count() > 0 && polls_ < spin_end_; }

 private:
  static constexpr std::uint32_t bare_polls = 256;
  static constexpr std::uint64_t never = ~std::uint64_t{0};
  void slow_pause() noexcept;
  void sleep(std::uint64_t number) const noexcept;
  bool spin_over() noexcept;

  std::chrono::microseconds spin_;
  std::uint64_t polls_ = 0;
  std::uint64_t bare_end_;
  std::uint64_t spin_end_ = never;
  bool gives_way_;
  std::chrono::steady_clock::time_point began_{};  // of the slower part
};

}  // namespace penstock::base
