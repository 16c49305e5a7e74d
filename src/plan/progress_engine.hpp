// SPDX-License-Identifier: Apache-2.0
// What the engines of ofi, proxy and enqueued share. One pass begins what has been marked as ready
// and looks at what is under way. Whoever gets the progress lock runs it: the progress thread, or
// the worker of a stream that has just started something or waits for it. A worker that runs passes
// itself saves the hand-over between two threads, which is most of a small message's time. The
// thread is there for what no worker waits for.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "group/world.hpp"
#include "plan/engine_plan.hpp"
#include "plan/progress_thread.hpp"
#include "plan/ready_list.hpp"

namespace penstock::plan {

struct ProgressOptions {
  bool check_ready = false;              // PENSTOCK_CHECK
  std::chrono::microseconds spin{0};     // of the thread, before it yields
  std::chrono::milliseconds timeout{0};  // 0: none
};

// `Client` is what is marked as ready and moved along; it derives from ReadyItem.
template <class Client>
class ProgressEngine : private ProgressThread::ProgressWork {
  using Clock = std::chrono::steady_clock;

 public:
  // ---- On a stream's worker
  // Is called after a word of the client's has been written. A call may start many: what is under
  // way besides is left to those who wait for it, and to the thread.
  void mark_ready(Client& client) noexcept {
    ready_.mark(client);
    try_progress([this] { take_ready(); });
  }
  // Makes a pass, or some, if the progress lock is free.
  void poll(Client& client) noexcept {
    try_progress([&] {
      for (int passes = passes_at_once(); passes > 0 && !pass(&client); --passes) continue;
      worker_polls_.store(true, std::memory_order_relaxed);
    });
  }
  // Is called after a wait: from now on the thread looks. Others that wait say so again at their
  // next poll.
  void leave() noexcept { worker_polls_.store(false, std::memory_order_relaxed); }
  // Makes several passes, whatever the others do, before bad news is believed. Neither MPI nor a
  // provider tells whether anything of a dead peer is still on its way. So these passes prove
  // nothing, and nothing rests on them. They look for a better answer: a message that came before
  // its sender died, or the peer's own word instead of MPI's or the network's.
  void poll_until_sure(Client& client) noexcept {
    poll_until(client, [] { return false; });
  }
  // Makes the same number of passes, but stops when done() is true.
  template <class Done>
  void poll_until(Client& client, Done done) noexcept {
    const std::lock_guard lock(progress_lock_);
    for (int i = 0; i < passes_until_sure && !done(); ++i) pass(&client);
    wake_if_needed();
  }

  bool check_ready() const noexcept { return options_.check_ready; }
  std::chrono::milliseconds timeout() const noexcept { return options_.timeout; }
  bool dead(int rank) const noexcept { return world_.dead(rank).load(std::memory_order_acquire); }
  // Whether this peer has just let PENSTOCK_TIMEOUT pass without an answer. That is forgotten when
  // it answers, and after as long again: it may live, and move the messages of later failures. Any
  // thread.
  bool silent(int rank) const noexcept {
    return Clock::now().time_since_epoch().count() <
           silent_until_[rank].load(std::memory_order_relaxed);
  }
  void note_silence(int rank) noexcept {
    const auto end = Clock::now() + options_.timeout;
    silent_until_[rank].store(end.time_since_epoch().count(), std::memory_order_relaxed);
  }
  void note_answer(int rank) noexcept { silent_until_[rank].store(0, std::memory_order_relaxed); }

 protected:
  static constexpr int passes_until_sure = 64;
  // PENSTOCK_CHECK looks as often whether a ready send came before its receive. Every start of such
  // a receive looks in vain in a program that is right, so this is cheap and finds what is here.
  static constexpr int passes_of_check = 8;

  // `thread`: see base::start_thread.
  ProgressEngine(const char* thread, const ProgressOptions& options, group::World& world)
      : options_(options),
        world_(world),
        silent_until_(static_cast<std::size_t>(world.size())),
        thread_(thread, *this, options.spin) {}
  // The engine has called stop_thread() and end_with_others(): what those call is its own.
  ~ProgressEngine() override = default;

  // ---- Under the progress lock
  // Begins what has been marked; true: there was something.
  virtual bool take_ready() noexcept = 0;
  // take_ready(), then `favourite` (may be null), then some of the others; true: something moved.
  virtual bool pass(Client* favourite) noexcept = 0;
  virtual bool under_way() const noexcept = 0;  // something that this process has begun
  // How often the thread, or a worker that waits, looks before it may yield or sleep.
  virtual int passes_at_once() const noexcept { return 1; }
  // Whether a peer may begin something at any time without a word to us.
  virtual bool must_listen() const noexcept = 0;
  virtual bool owes_messages() const noexcept = 0;  // buffered ones, to processes that live
  virtual bool owes_notices() const noexcept = 0;   // to processes that live
  // Whether a process that waits for the others at the end may say that it has come.
  virtual bool may_end() const noexcept { return true; }

  // Whether a buffered send's buffer for that epoch is free, as far as this process knows. Asks the
  // receiver what it has taken, at first: ask() is true if the question is on its way, which it is
  // not while the answer to an earlier one is, that may be older than what the program knows. Later
  // calls find the answer, which takes no act of any program.
  template <class PairEnd, class Ask>
  BufferState state_of_buffer(PairEnd& end, protocol::Epoch epoch, bool& asked, Ask ask) noexcept {
    const std::lock_guard lock(progress_lock_);
    pass(&end);
    const bool free = end.buffer_free(epoch);
    if (!free && !asked) asked = ask();
    wake_if_needed();
    if (free) return BufferState::free;
    // What has been taken has been delivered: the buffer here will be free when that is told.
    return asked && end.credits_known() && !end.room(epoch) ? BufferState::full
                                                            : BufferState::unknown;
  }

  void start_thread() { thread_.start(); }  // does nothing when it runs; throws base::Error
  void stop_thread() noexcept { thread_.stop(); }
  void wake_if_asleep() noexcept { thread_.wake_if_asleep(); }
  // Before the progress lock is given back: who marked something meanwhile may have found the list
  // empty, since we had taken from it.
  void wake_if_needed() noexcept {
    if (has_work()) wake_if_asleep();
  }
  bool has_work() const noexcept { return under_way() || !ready_.empty(); }

  // Is called inside MPI_Finalize: what is owed is delivered, and no process stops making progress
  // while others still need it. Waits for no process that is gone.
  void end_with_others() noexcept {
    deliver();
    if (!end_together()) say_farewell();
  }

  group::World& world() const noexcept { return world_; }

  ReadyList<Client> ready_;
  // Taken by try_lock on workers' usual paths; guards all that an engine knows but the ready list.
  mutable std::mutex progress_lock_;

 private:
  template <class Act>
  void try_progress(Act act) noexcept {
    bool work = !ready_.empty();
    while (progress_lock_.try_lock()) {
      act();
      work = has_work();
      progress_lock_.unlock();
      if (ready_.empty())
        break;  // else somebody marked meanwhile, and may have found the progress lock taken
    }
    // Where another thread has the progress lock, it sees to what it has taken; what it has not
    // taken stands in the list.
    if (work) wake_if_asleep();
  }

  ProgressThread::Outcome advance() noexcept final {
    using enum ProgressThread::Outcome;
    // Whoever waits makes all the progress there is to make.
    if (worker_polls_.exchange(false, std::memory_order_relaxed)) return worker_polls;
    const std::unique_lock lock(progress_lock_, std::try_to_lock);
    if (!lock) return waiting;
    for (int passes = passes_at_once(); passes > 0; --passes)
      if (pass(nullptr)) return moved;
    if (under_way()) return waiting;
    return must_listen() ? listening : idle;
  }

  bool nothing_to_do(bool listening) noexcept final {
    const std::lock_guard lock(progress_lock_);
    return !has_work() && (listening || !must_listen());
  }

  bool late(Clock::time_point began) const noexcept {
    return options_.timeout.count() > 0 && Clock::now() - began > options_.timeout;
  }

  // As MPI_Finalize does for MPI_Bsend, buffered messages are delivered before the end, to all who
  // can still receive them.
  void deliver() noexcept {
    for (const auto began = Clock::now();; std::this_thread::yield()) {
      world_.watch(0);  // the monitor has ended
      pass(nullptr);
      if (late(began) || !owes_messages()) return;
    }
  }

  // A process that is done and stopped making progress would leave others waiting for a message or
  // a notice. Returns true when all have come here, so that none waits any more. Ends early when a
  // process has died, or has not come within PENSTOCK_TIMEOUT.
  bool end_together() noexcept {
    if (world_.given_up()) return false;  // not everybody has an engine
    const auto began = Clock::now();
    return world_.end_together([this] { return may_end(); },
                               [&] {
                                 if (world_.anybody_dead()) return false;
                                 pass(nullptr);
                                 return !late(began);
                               });
  }

  // There is no point at which all who are left have heard of our end; and neither MPI nor a
  // provider, which may have no room for a process that is gone or cut off, tells that it never
  // will. So this has a limit, of its own.
  void say_farewell() noexcept {
    constexpr auto farewell = std::chrono::seconds(1);
    for (const auto began = Clock::now(); owes_notices() && Clock::now() - began < farewell;
         std::this_thread::yield())
      pass(nullptr);
  }

  const ProgressOptions options_;
  group::World& world_;
  std::vector<std::atomic<Clock::rep>> silent_until_;  // a rank each
  std::atomic<bool> worker_polls_{false};  // a worker waits, and has polled since the thread asked
  ProgressThread thread_;
};

}  // namespace penstock::plan
