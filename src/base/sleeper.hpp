// SPDX-License-Identifier: Apache-2.0
// How one thread sleeps until others have work for it, at next to no cost for them while it is
// awake.
#pragma once

#include <atomic>
#include <cstdint>

namespace penstock::base {

// The caller stores its work and then asks whether the thread sleeps; the thread says that it
// sleeps and then looks for work. At least one of the two has to see the other's store. Usually a
// full fence on both sides sees to that. Here the side that goes to sleep pays for both: a system
// call interrupts every processor that runs a thread of this process, with a full fence. If the
// caller's store came before the interrupt, the thread's last look for work sees it. If not, the
// caller's question comes after the interrupt, and sees that the thread sleeps.
//
// Where the system has no such call, both sides change the word by read-modify-writes: whose change
// comes second sees what the other stored before its own. Where the call fails (for want of memory,
// or by a filter that came later), the thread cannot know that it would be woken, and naps for a
// moment instead.
class Sleeper {
 public:
  explicit Sleeper(bool asymmetric = has_asymmetric_fence()) noexcept : asymmetric_(asymmetric) {}

  // Any thread, after it has stored work.
  void wake() noexcept {
    if (may_sleep()) [[unlikely]]
      wake_up();
  }

  // The one thread. Returns when it has been woken, at once if there is work; sometimes for no
  // reason.
  template <class HasWork>
  void sleep_unless(HasWork has_work) noexcept {
    asleep_.exchange(1, std::memory_order_acq_rel);
    if (asymmetric_ && !fence_everywhere()) [[unlikely]]
      return nap();
    if (!has_work()) asleep_.wait(1, std::memory_order_acquire);
    asleep_.exchange(0, std::memory_order_acq_rel);
  }

  static bool has_asymmetric_fence() noexcept;

 private:
  bool may_sleep() noexcept {
    if (!asymmetric_) [[unlikely]]
      return asleep_.fetch_or(0, std::memory_order_acq_rel) != 0;
    // The compiler keeps the order of store and question.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return asleep_.load(std::memory_order_relaxed) != 0;
  }
  void wake_up() noexcept {
    if (asleep_.exchange(0, std::memory_order_acq_rel) != 0) asleep_.notify_one();
  }
  static bool fence_everywhere() noexcept;  // false: there was none
  void nap() noexcept;

  std::atomic<std::uint32_t> asleep_{0};
  const bool asymmetric_;
};

}  // namespace penstock::base
