// SPDX-License-Identifier: Apache-2.0
// What a queue starts and waits for, again and again: a plan, the streams that it has been used on,
// and its place in its queue's list. A matched request is one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/stream.hpp"
#include "group/communicator.hpp"
#include "transport/plan.hpp"

namespace penstock::core {

class Queue;

class StreamOperation {
 public:
  virtual ~StreamOperation() = default;

  // "receive from rank 3 (tag 7, MPI_COMM_WORLD, 4096 bytes)"
  virtual std::string label() const = 0;
  // Whose error handler hears of its errors; may be null.
  virtual std::shared_ptr<const group::Communicator> communicator() const = 0;
  // Throws why it cannot be started yet: it is not complete.
  [[noreturn]] virtual void refuse_incomplete() const = 0;
  // Whether a queue that is waited for waits for it too; else only its own wait ends it.
  virtual bool ends_with_queue() const noexcept { return true; }
  // What to do where its pair serves no more.
  virtual const char* renewal() const noexcept {
    return "free this request, and match new ones on both ends";
  }

  // From then on any thread may start or free it, and sees all that was written before.
  bool complete() const noexcept { return complete_.load(std::memory_order_acquire); }

  // ---- The queue's side. Throws where it cannot be served on the stream: before anything is
  // enqueued.
  void check_stream(const device::Stream& stream) const {
    if (plan_ && last_stream_ != &stream) plan_->check_stream(stream);
  }
  // Before a start, on a stream that is in `capture`: orders it behind this operation's last wait
  // where that is on another stream. Throws Error(stream), Error(resources); then it is as if it
  // had not been called.
  void follow(const std::shared_ptr<device::Stream>& stream, std::uint64_t capture) {
    if (plan_ && (last_stream_ != stream.get() || last_capture_ != capture)) [[unlikely]]
      change_stream(stream, capture);
  }
  // Whether the wait of the next start comes in the same call.
  void expect_run(bool run) noexcept {
    if (plan_) plan_->expect_run(run);
  }
  void enqueue_start(device::Stream& stream, std::uint64_t capture, transport::Sink& sink);
  void enqueue_wait(device::Stream& stream, transport::Sink& sink);
  // A handle for kernels; from then on no call knows whether it is started.
  void enter_kernels(device::Stream& stream, transport::Sink& sink, unsigned wait_blocks,
                     std::span<std::byte> handle);
  bool in_kernels() const noexcept { return in_kernels_; }
  // What batches of its streams hold of it is launched.
  void launch_gathered() noexcept;
  // Whether its calls may share a launch with others (Queue::begin_batch).
  virtual bool joins_batches() const noexcept { return false; }
  // Is called after the flush that ends the enqueue call of a wait.
  void wait_flushed(device::Stream& stream) noexcept {
    if (has_moved_) [[unlikely]]
      plan_->wait_flushed(stream);
  }
  // What was captured may have run any number of times: only starts outside captures are known to
  // have been made.
  transport::PairState pair_state() const noexcept {
    if (has_left_) [[unlikely]]
      return transport::PairState::peer_closed;
    return plan_ ? plan_->pair_state(direct_starts_ + 1) : transport::PairState::serves;
  }
  // A start is refused, as a peer serves no more. What several members share ends for all of them
  // then: a third one may know neither of that peer nor of this start, and would wait for it.
  void start_refused() noexcept;

  // What traces say of it, and the epoch of its last start. Nothing is done for MPI_PROC_NULL.
  const base::trace::TracedMessage* traced() const noexcept {
    return plan_ ? &plan_->traced() : nullptr;
  }
  std::uint64_t starts() const noexcept { return starts_; }
  // The last start has begun no epoch of its own.
  void take_back_start() noexcept {
    --starts_;
    if (started_in == 0) --direct_starts_;
  }

  // Nothing can be enqueued now behind all that was enqueued for it. Any thread.
  bool in_captured_stream() const;

  // MPI has it started, by a call that the recorder has seen, and has not been asked to complete
  // it.
  bool active_in_mpi() const noexcept { return active_in_mpi_.load(std::memory_order_relaxed); }
  void set_active_in_mpi(bool active) noexcept {
    active_in_mpi_.store(active, std::memory_order_relaxed);
  }

  // The queue on which it is started and not waited for, or null; and its neighbours in that
  // queue's list.
  Queue* started_on = nullptr;
  std::uint64_t started_in = 0;  // the graph capture in which it was started, 0 for none
  // Among the waits of one call: the lowest comes first.
  static constexpr std::uint64_t last_turn = ~std::uint64_t{0};
  std::uint64_t wait_turn = last_turn;
  bool held = false;  // the work of its start is left to its wait (Queue::hold)
  StreamOperation* next = nullptr;
  StreamOperation* previous = nullptr;

  // Closes its plan, in stream order after all that is enqueued for it, and deletes the operation.
  static void close(StreamOperation* operation) noexcept;

  // Of a collective: others than its messages' peers wait for it, too.
  virtual bool is_shared() const noexcept { return false; }

 protected:
  // Before it is complete; `plan` is null where nothing is to be done.
  void take_plan(std::unique_ptr<transport::Plan> plan);
  transport::Plan* plan() const noexcept { return plan_.get(); }
  // The caller's from now on.
  std::unique_ptr<transport::Plan> release_plan() noexcept { return std::move(plan_); }
  // The other end hears that there is no pair after all.
  void give_up_plan() noexcept;
  void set_complete() noexcept { complete_.store(true, std::memory_order_release); }

 private:
  void change_stream(const std::shared_ptr<device::Stream>& stream, std::uint64_t capture);
  void note_captured_on(const std::shared_ptr<device::Stream>& stream);
  void close_plan() noexcept;
  // Of close() and of the closed plan; the second call deletes the operation.
  static void let_go(void* operation) noexcept;
  // A stream that comes behind all others that the operation was used on, from now on; null where
  // none is left.
  std::shared_ptr<device::Stream> behind_all_uses() noexcept;

  std::unique_ptr<transport::Plan> plan_;
  std::atomic<bool> complete_{false};
  std::atomic<bool> active_in_mpi_{false};
  bool in_kernels_ = false;
  bool has_left_ = false;  // its plan is closed, or about to be
  std::atomic<bool> let_go_once_{false};

  std::uint64_t starts_ = 0;
  std::uint64_t direct_starts_ = 0;  // those outside graph captures
  // Compared only: it may have been freed. No other stream can have its address before the last use
  // below is renewed: all are made by std::make_shared, whose memory holds the count too, and stays
  // while there is a weak owner.
  device::Stream* last_stream_ = nullptr;
  std::uint64_t last_capture_ = 0;
  bool has_moved_ = false;  // it has been started on more than one stream
  // Where it has been started last outside captures (0), and in each capture that may be under way:
  // the last one of all at the back. Renewed when the stream or the capture changes.
  struct Use {
    std::uint64_t capture;
    std::weak_ptr<device::Stream> stream;
  };
  std::vector<Use> uses_;
  // Graphs of these captures may run there.
  std::vector<std::weak_ptr<device::Stream>> captured_on_;
};

}  // namespace penstock::core
