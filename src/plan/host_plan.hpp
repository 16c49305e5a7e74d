// SPDX-License-Identifier: Apache-2.0
// A plan whose starts and waits are work of a thread: what peer (host form), ofi, proxy and
// enqueued have in common. The thread is the worker of a host stream, or a relay's for streams of a
// GPU.
#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "device/host/stream.hpp"
#include "plan/polled_wait.hpp"
#include "transport/plan.hpp"

namespace penstock::plan {

class HostPlan : public transport::Plan {
 public:
  void check_stream(const device::Stream& stream) const final;
  void start(device::Stream& stream, transport::Sink& sink) final;
  void wait(device::Stream& stream, transport::Sink& sink) final;
  void hand_over(device::Stream* last, device::Stream& next) final;
  void close(device::Stream& stream, void (*ended)(void*), void* argument) final;
  void close() final { run_close(); }
  void cancel_wait(const base::Error& error) noexcept final;

  // One more start has been enqueued: what it needs can be prepared ahead of it. Never waits;
  // throws base::Error.
  virtual void expect_start() {}
  // The work itself, for one thread at a time: steps of a start until it is carried out or has
  // failed (true), then polls until the wait has ended (true). Neither blocks.
  bool start_step(transport::Sink& sink) noexcept;
  bool poll_step(transport::Sink& sink) noexcept;
  // What poison() then says to the peer: this half is freed, after no error.
  virtual void note_freed() noexcept {}
  void poison() noexcept;  // this half serves no more, and tells the peer if it can be told
  bool poisoned() const noexcept { return poisoned_.load(std::memory_order_relaxed); }

 protected:
  transport::PairState state_by(bool peer_closed) const noexcept {
    using transport::PairState;
    if (poisoned()) return PairState::given_up;
    return peer_closed ? PairState::peer_closed : PairState::serves;
  }
  // All run on one thread at a time, and must not block. Those that give an error may throw for
  // want of memory for its text, the others must not throw.
  // Carries out the start, or says why it fails. One that needs something of the peer first sets
  // `later` in place of waiting for it, and is called again.
  virtual std::optional<base::Error> run_start(bool& later) = 0;
  virtual bool run_wait() noexcept = 0;  // one poll; true: ended
  // Asked after a poll that finds nothing: why the wait can never end (peer dead, peer closed);
  // nullopt: keep looking. The look is repeated once before the answer is believed, since the
  // evidence may have come in between.
  virtual std::optional<base::Error> hopeless() = 0;
  virtual void run_close() noexcept = 0;  // tells the peer that this half is gone
  // The pair cannot be used any more (failed or released): tell the peer if it can be told. Called
  // once.
  virtual void run_poison() noexcept = 0;
  // After that, one poll: whether nothing reads or writes the program's buffer any more.
  virtual bool run_untouched() noexcept { return true; }
  // In traces a start that has this called goes on with the epoch of the one before.
  void go_on_with_epoch() noexcept { --trace_.epoch; }
  // Why this plan has failed, where it has by itself; else null. It is there before run_poison().
  const base::Error* failure() const noexcept { return failure_ ? &*failure_ : nullptr; }

 private:
  static bool start_command(device::host::Command& command) noexcept;
  static bool wait_command(device::host::Command& command) noexcept;
  static bool close_command(device::host::Command& command) noexcept;
  static bool traced_start_command(device::host::Command& command) noexcept;
  static bool traced_wait_command(device::host::Command& command) noexcept;
  std::optional<base::Error> start_or_say_why(bool& later) noexcept;
  std::optional<base::Error> say_why_hopeless() noexcept;
  bool wait_again(transport::Sink& sink) noexcept;
  bool wait_until_untouched(transport::Sink& sink) noexcept;
  void tell_if_it_lasts(transport::Sink& sink) noexcept;
  bool end_wait(transport::Sink& sink) noexcept;
  void pass_on() noexcept;
  void fail_and_poison(transport::Sink& sink, const base::Error& error) noexcept;

  protocol::Epoch waits_enqueued_ = 0;  // enqueue calls alone use it
  // The last thing that a wait on a stream writes: who has seen it may use all of the plan.
  std::atomic<protocol::Epoch> waits_ended_{0};

  // The own of the thread that works.
  PolledWait wait_;                     // the present one
  std::atomic<bool> poisoned_{false};   // reports read it on other threads
  std::optional<base::Error> failure_;  // why, if it was this plan's own
  struct {
    protocol::Epoch epoch = 0;
    base::trace::Clock::time_point triggered;
    bool starting = false;                                     // between the steps of a start
    std::optional<base::trace::Clock::time_point> first_poll;  // of a wait that has not ended
  } trace_;
};

}  // namespace penstock::plan
