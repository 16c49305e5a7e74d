// SPDX-License-Identifier: Apache-2.0
// How a thread of ours waits for memory to change: spin, then yield, then sleep in growing steps. Two workers bound to
// one core would not finish without the yield.
#pragma once

#include <chrono>
#include <cstdint>

namespace penstock::base {

class Backoff {
 public:
  // `spin` 0: there are more threads than cores, so even the first look in vain yields.
  explicit Backoff(std::chrono::microseconds spin) noexcept
      : spin_(spin), bare_end_(spin.count() > 0 ? bare_looks : 0) {}

  // One look in vain. The first few hundred return at once: the processor's pause instruction costs longer than a cache
  // line takes to come from another core. Spinning makes no system call; the clock is read every 16 looks of its slower
  // part.
  void pause() noexcept {
    if (++looks_ > bare_end_) [[unlikely]]
      slow_pause();
  }
  void reset() noexcept {
    looks_ = 0;
    spin_end_ = never;
  }
  bool spinning() const noexcept { return spin_.count() > 0 && looks_ < spin_end_; }

 private:
  static constexpr std::uint32_t bare_looks = 256;
  static constexpr std::uint64_t never = ~std::uint64_t{0};
  void slow_pause() noexcept;
  bool spin_over() noexcept;

  std::chrono::microseconds spin_;
  std::uint64_t looks_ = 0;
  std::uint64_t bare_end_;
  std::uint64_t spin_end_ = never;
  std::chrono::steady_clock::time_point began_{};  // of the slower part
};

}  // namespace penstock::base
