// SPDX-License-Identifier: Apache-2.0
// A queue ties communication to a stream. It keeps what is started on it, and the first error of
// what was enqueued on it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/no_copy.hpp"
#include "base/trace.hpp"
#include "core/request_error.hpp"
#include "device/stream.hpp"
#include "transport/plan.hpp"

namespace penstock::core {

class StreamOperation;

// A wait that has lasted long enough to be worth a line.
struct BlockedWait {
  transport::Waiter* waiter = nullptr;
  std::chrono::steady_clock::time_point since;
  bool released = false;  // as the time limit has passed, and perhaps not ended yet
};

// What a room above keeps with a queue. It goes when the program frees the queue.
class QueueCompanion : private base::NoCopy {
 public:
  virtual ~QueueCompanion() = default;
  // A call of the program's is about to tell that the queue has failed: nothing waits for what is
  // not enqueued on the stream yet.
  virtual void queue_has_failed(const base::Error& error) noexcept = 0;
  // Throws Error(in_use) where the queue must not be freed yet.
  virtual void refuse_free() const = 0;
  // What reports say of it; "" for nothing. `waits`: they say besides what the queue waits for. Any
  // thread.
  virtual std::string describe(bool waits) const = 0;
};

class Queue final : public transport::Sink {
 public:
  // `lease` is held until the program frees the queue; `number` is what messages call it;
  // `when_failed` (may be empty) is called once, from a thread of ours, when communication fails;
  // `trace` (may be null) takes what is recorded.
  Queue(std::shared_ptr<device::Stream> stream, std::shared_ptr<void> lease, std::uint64_t number,
        std::function<void(const base::Error&)> when_failed, base::trace::QueueTrace* trace);
  ~Queue() override;

  device::Stream& stream() noexcept { return *stream_; }
  std::uint64_t number() const noexcept { return number_; }

  // Enqueue calls: check everything, then enqueue everything. Throw base::Error. The steady state
  // allocates nothing and takes no lock.
  void start(std::size_t count, StreamOperation* const* operations);
  void wait(std::size_t count, StreamOperation* const* operations);
  // All starts, then all waits.
  void run(std::size_t count, StreamOperation* const* operations);
  // A start whose work comes with its wait: hold() enqueues nothing, and until run_held(), which
  // does what run() does, the operations count as started here. Before hold(), refuse_start()
  // throws what start() would.
  void refuse_start(std::size_t count, StreamOperation* const* operations) const;
  void hold(std::size_t count, StreamOperation* const* operations) noexcept;
  void run_held(std::size_t count, StreamOperation* const* operations);
  void wait_outstanding();
  // A handle by which kernels on this queue's stream start the operation and wait for it. Throws
  // base::Error.
  void give_to_kernels(StreamOperation& operation, unsigned wait_blocks,
                       std::span<std::byte> handle);
  // A piece of work of a room above, which keeps by itself what it has started: push(stream).
  // Throws base::Error.
  template <class Push>
  void enqueue_work(Push&& push) {
    raise();
    flush_batch();
    settled_ = false;
    push(stream_);
  }
  // Starts an operation once more, also where earlier starts have no wait yet. Its next wait ends
  // all of them.
  void trigger(StreamOperation& operation);
  // Until end_batch(), calls for operations that join batches are gathered, for as few launches as
  // their order allows. Throw base::Error.
  void begin_batch();
  void end_batch();
  // Blocks until everything started here is complete and the stream has run dry; throws the sticky
  // error.
  void complete(const std::function<bool()>& meanwhile);
  bool test();
  // What calls have enqueued here has been seen to have ended. The stream may have other work: the
  // program's own, and the ends of operations that have been freed.
  bool settled() const noexcept { return settled_; }
  bool in_batch() const noexcept { return in_batch_; }
  void refuse_in_capture() const;  // throws when what is enqueued cannot run yet
  // Throws Error(in_use) where something is started that only its own wait ends. A queue that has
  // failed takes no such wait any more.
  void refuse_unwaited() const;
  // It ends without a wait: its owner goes.
  void forget(StreamOperation& operation) noexcept { remove(operation); }
  // It belongs to a GPU's stream, which the program may destroy without a word to us.
  void set_implicit() noexcept { implicit_ = true; }
  bool implicit() const noexcept { return implicit_; }
  QueueCompanion* companion() const noexcept { return companion_.get(); }
  void take_companion(std::unique_ptr<QueueCompanion> companion) noexcept;
  std::string describe_companion(bool waits) const;  // any thread
  // The last call of the program's on this queue.
  void give_up_stream() noexcept;
  // Throws the sticky error, if there is one.
  void raise() const {
    if (failed()) [[unlikely]]
      raise_error();
  }

  void fail(const base::Error& error) noexcept override;
  void blocked_since(transport::Waiter& waiter) noexcept override;
  void unblocked(transport::Waiter& waiter) noexcept override;

  // The monitor calls it. `visit` runs under the lock that unblocked() takes, so the waiter exists
  // while it runs.
  template <class Visit>
  void visit_blocked(Visit visit) {
    const std::lock_guard lock(blocked_mutex_);
    if (blocked_) visit(*blocked_);
  }

 private:
  class Running;
  class WaitsFollow;

  [[noreturn]] void raise_error() const;
  void check_start(StreamOperation& operation) const;
  void check_wait(const StreamOperation& operation, std::uint64_t capture) const;
  bool outstanding() const noexcept { return outstanding_ != 0; }
  void add(StreamOperation& operation) noexcept;
  void remove(StreamOperation& operation) noexcept;
  // Launches what a batch has gathered. Before whatever is to come behind it.
  void flush_batch() noexcept {
    if (in_batch_) stream_->flush();
  }
  void end_call() noexcept {
    if (gathers_)
      stream_->end_gathered_call();
    else if (waits_follow_)
      stream_->end_starts();
    else
      stream_->flush();
  }
  StreamOperation* const* in_turn(std::size_t count, StreamOperation* const* operations);
  void enqueue_waits(std::size_t count, StreamOperation* const* operations);
  void enqueue_outstanding();
  std::optional<RequestError> forget_captured();  // the last of them, null: there were none
  // The work of an enqueue call for operations that have been checked, and its flush; `enqueued`
  // counts along.
  template <class Enqueue>
  void enqueue(base::trace::TraceKind call, std::size_t count, StreamOperation* const* operations,
               std::size_t& enqueued, Enqueue&& enqueue_one);
  template <class Enqueue>
  void trace_calls(base::trace::TraceKind call, std::size_t count,
                   StreamOperation* const* operations, std::size_t& enqueued, Enqueue& enqueue_one);

  std::shared_ptr<device::Stream> stream_;
  std::shared_ptr<void> lease_;
  std::uint64_t number_;
  std::function<void(const base::Error&)> when_failed_;
  base::trace::QueueTrace* trace_;
  bool settled_ = true;
  bool implicit_ = false;
  bool in_batch_ = false;
  bool waits_follow_ = false;        // the starts under way are those of a run
  bool gathers_ = false;             // the call under way leaves its launch to the batch
  std::uint64_t batch_capture_ = 0;  // in which the batch has begun
  // Started, no wait enqueued, in the order of the starts: a list through the operations, so that
  // it never allocates.
  StreamOperation* first_ = nullptr;
  StreamOperation* last_ = nullptr;
  std::size_t outstanding_ = 0;                // of these, how many end with the queue
  std::vector<StreamOperation*> in_turn_;      // those that the last call waited for
  std::unique_ptr<QueueCompanion> companion_;  // replaced under the lock, as reports read it
  mutable std::mutex blocked_mutex_;
  std::optional<BlockedWait> blocked_;
};

}  // namespace penstock::core
