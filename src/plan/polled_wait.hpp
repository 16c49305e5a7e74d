// SPDX-License-Identifier: Apache-2.0
// A wait of a stream's worker that polls: how long it has found nothing, what the monitor is told
// of it, and how that ends it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/elapsed.hpp"
#include "base/error.hpp"
#include "transport/sink.hpp"

namespace penstock::plan {

class PolledWait {
 public:
  // ---- By the worker.
  bool begins() const noexcept { return polls_ == 0; }
  // A poll has found nothing. True: now and then, to ask whether the wait is hopeless, and to tell
  // that it lasts.
  bool found_nothing() noexcept { return ++polls_ % polls_between_checks == 0; }
  // Whether the monitor is to be told now, by tell().
  bool is_to_be_told() noexcept {
    return !told_ && polls_ >= polls_before_clock && lasts_.exceeds(until_told);
  }
  void tell(transport::Waiter& waiter, transport::Sink& sink) noexcept {
    told_ = true;
    sink.blocked_since(waiter);
  }
  // Why it is to end, since the monitor was told; or null.
  const base::Error* cancelled() const noexcept {
    return told_ && cancelled_.load(std::memory_order_acquire) ? &*error_ : nullptr;
  }
  void end(transport::Waiter& waiter, transport::Sink& sink) noexcept {
    polls_ = 0;
    lasts_.reset();
    if (std::exchange(told_, false)) [[unlikely]]
      forget(waiter, sink);
  }

  // ---- By any thread, as Waiter::cancel_wait() is called.
  void cancel(const base::Error& error) noexcept {
    if (claimed_.exchange(true, std::memory_order_relaxed)) return;
    error_ = error;
    cancelled_.store(true, std::memory_order_release);
  }

 private:
  // How long a wait polls and finds nothing before the monitor is told, which takes a lock: far
  // beyond what any wait of a program in its stride takes, and soon enough for a report. The clock
  // is not read in the first polls, and then seldom.
  static constexpr std::chrono::milliseconds until_told{20};
  static constexpr std::uint32_t polls_before_clock = 512;
  // Seldom enough to cost nothing, often enough for a sleeping worker.
  static constexpr std::uint32_t polls_between_checks = 32;

  // From unblocked() on nobody cancels this wait. A cancel that came too late to matter is
  // forgotten.
  void forget(transport::Waiter& waiter, transport::Sink& sink) noexcept {
    sink.unblocked(waiter);
    if (!claimed_.load(std::memory_order_relaxed)) return;
    error_.reset();
    cancelled_.store(false, std::memory_order_relaxed);
    claimed_.store(false, std::memory_order_relaxed);
  }

  std::uint32_t polls_ = 0;  // that found nothing
  bool told_ = false;
  base::Elapsed lasts_;
  std::atomic<bool> claimed_{false};    // the first cancel counts
  std::atomic<bool> cancelled_{false};  // release order: the error has been written
  std::optional<base::Error> error_;
};

}  // namespace penstock::plan
