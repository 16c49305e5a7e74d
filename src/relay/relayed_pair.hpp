// SPDX-License-Identifier: Apache-2.0
// One half of a pair that a stream of a GPU starts and waits for, and that a host plan carries out.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/error.hpp"
#include "plan/host_plan.hpp"
#include "plan/progress_thread.hpp"
#include "relay/words.hpp"

namespace penstock::relay {

class RelayedPair final : private transport::Sink {
 public:
  RelayedPair(plan::HostPlan& plan, RelayWords& words) noexcept : plan_(plan), words_(words) {}

  bool poisoned() const noexcept { return plan_.poisoned(); }
  // After Relay::give_up(): nothing reads or writes its message any more.
  bool untouched() const noexcept;
  base::Error error() const;  // why

 private:
  friend class Relay;
  using Ended = void (*)(void*);

  // Enqueue calls use these.
  void expect(bool replayed) noexcept;

  // One thread at a time calls it.
  plan::ProgressThread::Outcome advance() noexcept;
  // Asked by a thread that has announced its sleep: whether it may sleep until it is woken, or,
  // `listening`, for a moment.
  bool lets_sleep(bool listening) const noexcept;
  void poison() noexcept;
  // The stream uses it no more. Its waits come to their end with their messages, so what is under
  // way was given up by a queue that has failed.
  void prepare_close() noexcept {
    if (under_way_) poison();
  }
  bool still_moves() const noexcept { return poisoned() && under_way_; }
  // A queue that it was used on has failed: whether it had more to do there. A message that has
  // come may have no wait any more that takes it.
  bool has_work() const noexcept {
    return under_way_ || replayed_.load(std::memory_order_relaxed) ||
           expected_.load(std::memory_order_seq_cst) > epoch_ ||
           std::atomic_ref(words_.done).load(std::memory_order_acquire) < epoch_;
  }
  void close() noexcept;

  void complete(std::uint64_t epoch) noexcept;
  void end_waits() noexcept;
  void fail(const base::Error& error) noexcept override { error_.set(error); }
  // The stream's own wait tells how long it lasts: this one begins with the start.
  void blocked_since(transport::Waiter&) noexcept override {}
  void unblocked(transport::Waiter&) noexcept override {}

  plan::HostPlan& plan_;
  RelayWords& words_;
  std::uint64_t epoch_ = 0;  // of the start under way or the last one
  bool under_way_ = false;
  bool starting_ = false;                   // under way, and not carried out yet
  bool over_ = false;                       // no wait is left, or closed
  std::atomic<std::uint64_t> expected_{0};  // starts enqueued outside graphs
  std::atomic<bool> replayed_{false};       // some were captured

  // Set by close() in the order of a stream.
  std::atomic<bool> closing_{false};
  Ended when_ended_ = nullptr;
  void* argument_ = nullptr;
  RelayedPair* next_closed_ = nullptr;
};

}  // namespace penstock::relay
