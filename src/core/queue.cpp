// SPDX-License-Identifier: Apache-2.0
#include "core/queue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/log.hpp"
#include "core/request_error.hpp"

namespace penstock::core {

using base::Error;
using base::ErrorKind;
using base::trace::Clock;
using base::trace::TraceKind;
using transport::PairState;

Queue::Queue(std::shared_ptr<device::Stream> stream, std::shared_ptr<void> lease,
             std::uint64_t number, std::function<void(const Error&)> when_failed,
             base::trace::QueueTrace* trace)
    : stream_(std::move(stream)),
      lease_(std::move(lease)),
      number_(number),
      when_failed_(std::move(when_failed)),
      trace_(trace) {
  if (trace_) track_ = &trace_->stream;
}

Queue::~Queue() {
  stream_->leave();
  if (trace_) trace_->close();
}

void Queue::give_up_stream() noexcept {
  flush_batch();
  // A failed queue takes no wait for what only its own wait ends.
  while (first_) remove(*first_);
  take_companion(nullptr);
  lease_.reset();
}

// The old companion is destroyed outside the lock, so that reports do not wait for it.
void Queue::take_companion(std::unique_ptr<QueueCompanion> companion) noexcept {
  {
    const std::lock_guard lock(blocked_mutex_);
    companion_.swap(companion);
  }
}

std::string Queue::describe_companion(bool waits) const {
  const std::lock_guard lock(blocked_mutex_);
  return companion_ ? companion_->describe(waits) : "";
}

// At the end, or by its turn: the list is what the queue waits for, in this order.
void Queue::add(StreamOperation& operation) noexcept {
  if (operation.in_kernels()) [[unlikely]]
    return;  // a kernel may have its wait
  operation.started_on = this;
  if (operation.ends_with_queue()) [[likely]]
    ++outstanding_;
  StreamOperation* next = nullptr;
  if (operation.wait_turn != StreamOperation::last_turn) [[unlikely]]
    for (next = first_; next && next->wait_turn <= operation.wait_turn;) next = next->next;
  operation.next = next;
  operation.previous = next ? next->previous : last_;
  (operation.previous ? operation.previous->next : first_) = &operation;
  (next ? next->previous : last_) = &operation;
}

void Queue::remove(StreamOperation& operation) noexcept {
  if (operation.started_on == nullptr) return;
  operation.started_on = nullptr;
  if (operation.ends_with_queue()) [[likely]]
    --outstanding_;
  operation.held = false;
  (operation.previous ? operation.previous->next : first_) = operation.next;
  (operation.next ? operation.next->previous : last_) = operation.previous;
}

namespace {

constexpr auto in_another_capture =
    " was not started in the same graph capture as its wait: have both inside it, or both outside";

// Not inlined, so that each check costs the call few instructions.
[[noreturn, gnu::cold, gnu::noinline]] void refuse(const StreamOperation& operation, ErrorKind kind,
                                                   const char* why) {
  throw RequestError(operation, kind, why);
}

[[noreturn, gnu::cold, gnu::noinline]] void refuse_queue(const StreamOperation& operation) {
  throw RequestError(operation, ErrorKind::wrong_queue,
                     fmt::format(" was started on queue {}: enqueue its wait on that one",
                                 operation.started_on->number()));
}

[[noreturn, gnu::cold, gnu::noinline]] void refuse_pair(const StreamOperation& operation,
                                                        PairState state) {
  if (state == PairState::given_up)
    throw RequestError(operation, ErrorKind::transport,
                       fmt::format(": the pair was given up when a queue that it was used on "
                                   "failed: {}",
                                   operation.renewal()));
  throw RequestError(
      operation, ErrorKind::peer_freed,
      fmt::format(": the peer has freed its half of the pair, has given it up after an error, "
                  "which its log tells, or has called MPI_Finalize: {}",
                  operation.renewal()));
}

}  // namespace

inline void Queue::check_start(StreamOperation& operation) const {
  if (!operation.complete()) operation.refuse_incomplete();
  if (operation.started_on)
    refuse(operation, ErrorKind::already_started,
           " is started and has no wait yet: enqueue PST_Enqueue_wait first; or it stands twice "
           "among the requests of this call: name it once");
  if (operation.active_in_mpi()) [[unlikely]]
    refuse(operation, ErrorKind::already_started,
           " has been started by MPI_Start, which moves a message of MPI's own from or into its "
           "buffer: complete it by MPI_Wait or its kind first");
  if (const PairState state = operation.pair_state(); state != PairState::serves) [[unlikely]] {
    operation.start_refused();
    refuse_pair(operation, state);
  }
  operation.check_stream(*stream_);
}

inline void Queue::check_wait(const StreamOperation& operation, std::uint64_t capture) const {
  if (!operation.complete()) operation.refuse_incomplete();
  if (operation.in_kernels()) [[unlikely]]
    return operation.check_stream(*stream_);
  if (!operation.started_on)
    refuse(operation, ErrorKind::not_started,
           " has no start without a wait: enqueue PST_Enqueue_start first, and no wait "
           "behind PST_Enqueue_run, which enqueues both");
  if (operation.started_on != this) refuse_queue(operation);
  if (operation.started_in != capture)
    refuse(operation, ErrorKind::not_started, in_another_capture);
}

// Joining the list is part of the check, so that an operation that occurs twice in one array is
// found. After an error those that have not been enqueued leave it again.
void Queue::start(std::size_t count, StreamOperation* const* operations) {
  raise();
  const std::uint64_t capture = stream_->capture();
  std::size_t checked = 0;
  std::size_t enqueued = 0;
  try {
    for (; checked < count; ++checked) {
      check_start(*operations[checked]);
      add(*operations[checked]);
    }
    for (std::size_t i = 0; i < count; ++i) operations[i]->follow(stream_, capture);
    enqueue(TraceKind::start_call, count, operations, enqueued,
            [this, capture](StreamOperation& operation) {
              operation.enqueue_start(*stream_, capture, *this);
            });
  } catch (...) {
    while (checked-- > enqueued) remove(*operations[checked]);
    throw;
  }
}

// Room is made first: once a plan has been told to expect a start, that cannot be refused.
void Queue::trigger(StreamOperation& operation) {
  StreamOperation* const one = &operation;
  raise();
  stream_->make_room(1);
  if (operation.started_on == nullptr) return start(1, &one);
  std::size_t enqueued = 0;
  enqueue(TraceKind::start_call, 1, &one, enqueued,
          [this](StreamOperation& each) { each.enqueue_start(*stream_, each.started_in, *this); });
}

// The waits of one call. That of a collective carries out all that comes behind its start, and
// needs that of all members: those come first, in an order that is the same everywhere. Other waits
// end without the peer's, and keep theirs. Takes memory only where they are more than ever before.
StreamOperation* const* Queue::in_turn(std::size_t count, StreamOperation* const* operations) {
  const auto has_turn = [](const StreamOperation* each) {
    return each->wait_turn != StreamOperation::last_turn;
  };
  StreamOperation* const* const end = operations + count;
  if (count < 2 || std::none_of(operations, end, has_turn)) return operations;
  in_turn_.clear();
  in_turn_.reserve(count);
  std::copy_if(operations, end, std::back_inserter(in_turn_), has_turn);
  std::sort(in_turn_.begin(), in_turn_.end(),
            [](const StreamOperation* a, const StreamOperation* b) {
              return a->wait_turn < b->wait_turn;
            });
  std::remove_copy_if(operations, end, std::back_inserter(in_turn_), has_turn);
  return in_turn_.data();
}

void Queue::give_to_kernels(StreamOperation& operation, unsigned wait_blocks,
                            std::span<std::byte> handle) {
  raise();
  refuse_in_capture();
  check_start(operation);
  operation.follow(stream_, 0);
  flush_batch();
  settled_ = false;
  operation.enter_kernels(*stream_, *this, wait_blocks, handle);
  stream_->flush();
}

void Queue::wait(std::size_t count, StreamOperation* const* operations) {
  raise();
  enqueue_waits(count, in_turn(count, operations));
}

void Queue::enqueue_waits(std::size_t count, StreamOperation* const* operations) {
  const std::uint64_t capture = stream_->capture();
  std::size_t checked = 0;
  std::size_t enqueued = 0;
  try {
    for (; checked < count; ++checked) {
      check_wait(*operations[checked], capture);
      remove(*operations[checked]);
    }
    enqueue(TraceKind::wait_call, count, operations, enqueued,
            [this](StreamOperation& operation) { operation.enqueue_wait(*stream_, *this); });
  } catch (...) {
    while (checked-- > enqueued) add(*operations[checked]);
    throw;
  }
  for (std::size_t i = 0; i < count; ++i) operations[i]->wait_flushed(*stream_);
}

// A start and a wait in one call, which may be one piece of work: of one request alone, as the
// waits of several come behind all their starts.
class Queue::Running {
 public:
  Running(std::size_t count, StreamOperation* const* operations) noexcept
      : alone_(count == 1 ? operations[0] : nullptr) {
    if (alone_ != nullptr) alone_->expect_run(true);
  }
  ~Running() {
    if (alone_ != nullptr) alone_->expect_run(false);
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  StreamOperation* const alone_;
};

// The end of the starts' call is left to the waits.
class Queue::WaitsFollow {
 public:
  explicit WaitsFollow(Queue& queue) noexcept : queue_(queue) { queue_.waits_follow_ = true; }
  ~WaitsFollow() { queue_.waits_follow_ = false; }
  WaitsFollow(const WaitsFollow&) = delete;
  WaitsFollow& operator=(const WaitsFollow&) = delete;

 private:
  Queue& queue_;
};

// Room for the waits comes before the starts, which cannot be taken back: for a start, its wait,
// and the order behind another stream. Where a wait fails in spite of that, the queue has failed. A
// queue that fails meanwhile, by its own worker say, has its waits too: they end when nothing moves
// their buffers, and the next call tells.
void Queue::run(std::size_t count, StreamOperation* const* operations) {
  raise();
  if (count == 0) return;
  stream_->make_room(3 * count);
  StreamOperation* const* const waits = in_turn(count, operations);
  const Running running(count, operations);
  {
    const WaitsFollow left(*this);
    start(count, operations);
  }
  try {
    enqueue_waits(count, waits);
  } catch (const Error& error) {
    stream_->flush();  // the starts stand, as the peers wait for them
    fail(error);
    throw;
  }
}

void Queue::refuse_start(std::size_t count, StreamOperation* const* operations) const {
  raise();
  for (std::size_t i = 0; i < count; ++i) check_start(*operations[i]);
}

void Queue::hold(std::size_t count, StreamOperation* const* operations) noexcept {
  const std::uint64_t capture = stream_->capture();
  for (std::size_t i = 0; i < count; ++i) {
    operations[i]->started_in = capture;
    operations[i]->held = true;
    add(*operations[i]);
  }
}

// Where it throws they are held as before, unless the queue has failed.
void Queue::run_held(std::size_t count, StreamOperation* const* operations) {
  raise();
  const std::uint64_t capture = stream_->capture();
  for (std::size_t i = 0; i < count; ++i) check_wait(*operations[i], capture);
  for (std::size_t i = 0; i < count; ++i) remove(*operations[i]);
  try {
    run(count, operations);
  } catch (...) {
    if (!failed()) hold(count, operations);
    throw;
  }
}

template <class Enqueue>
void Queue::trace_calls(TraceKind call, std::size_t count, StreamOperation* const* operations,
                        std::size_t& enqueued, Enqueue& enqueue_one) {
  for (; enqueued < count; ++enqueued) {
    StreamOperation& operation = *operations[enqueued];
    const auto begin = Clock::now();
    enqueue_one(operation);
    if (enqueued + 1 == count) end_call();
    if (const auto* message = operation.traced())
      trace_->calls.record({call, *message, operation.starts(), begin, Clock::now()});
  }
}

// All or nothing: room comes first, and only another thread that enqueues on the same stream while
// memory is exhausted can take it. Then what has been enqueued cannot be taken back, and the queue
// has failed. A trace has the spans of a call's operations one after the other; what the stream
// does at the end of the call is part of the last.
template <class Enqueue>
void Queue::enqueue(TraceKind call, std::size_t count, StreamOperation* const* operations,
                    std::size_t& enqueued, Enqueue&& enqueue_one) {
  if (count > 1) stream_->make_room(count);
  settled_ = false;
  gathers_ = in_batch_ && count != 0 && operations[0]->joins_batches();
  if (!gathers_) flush_batch();
  try {
    if (trace_) [[unlikely]]
      return trace_calls(call, count, operations, enqueued, enqueue_one);
    for (; enqueued < count; ++enqueued) enqueue_one(*operations[enqueued]);
    end_call();
  } catch (const Error& error) {
    if (enqueued > 0) fail(error);
    throw;
  }
}

// An error leaves what has no wait yet as it was. What has left the list is chained by itself, as
// others may stay between.
void Queue::enqueue_outstanding() {
  flush_batch();
  if (!outstanding()) return;
  settled_ = false;
  StreamOperation* waited = nullptr;
  for (StreamOperation *operation = first_, *next = nullptr; operation; operation = next) {
    next = operation->next;
    if (!operation->ends_with_queue()) continue;
    const auto begin = trace_ ? Clock::now() : Clock::time_point{};
    operation->enqueue_wait(*stream_, *this);
    remove(*operation);
    operation->next = std::exchange(waited, operation);
    if (!outstanding()) stream_->flush();
    if (const auto* message = trace_ ? operation->traced() : nullptr)
      trace_->calls.record(
          {TraceKind::wait_call, *message, operation->starts(), begin, Clock::now()});
  }
  for (StreamOperation* operation = waited; operation; operation = operation->next)
    operation->wait_flushed(*stream_);
}

void Queue::begin_batch() {
  raise();
  if (in_batch_) throw Error(ErrorKind::argument, "a batch is open on the queue: end it first");
  batch_capture_ = stream_->capture();
  in_batch_ = true;
}

void Queue::end_batch() {
  if (!in_batch_) throw Error(ErrorKind::argument, "no batch is open on the queue");
  flush_batch();
  in_batch_ = false;
  raise();
  if (stream_->capture() != batch_capture_)
    throw Error(
        ErrorKind::stream,
        "the batch began in another capture of the queue's stream, or outside: begin and end "
        "it in the same");
}

void Queue::wait_outstanding() {
  raise();
  const std::uint64_t capture = stream_->capture();
  for (StreamOperation* operation = first_; operation; operation = operation->next)
    if (operation->ends_with_queue() && operation->started_in != capture)
      refuse(*operation, ErrorKind::not_started, in_another_capture);
  enqueue_outstanding();
}

// What was started in a capture cannot be waited for outside it: it leaves the list, which nothing
// else would end, and may be freed at once. So what is to be told of it is made first.
std::optional<RequestError> Queue::forget_captured() {
  std::optional<RequestError> told;
  for (StreamOperation* operation = first_; operation; operation = operation->next)
    if (operation->started_in != 0)
      told.emplace(*operation, ErrorKind::not_started, in_another_capture);
  if (!told) return told;
  for (StreamOperation* operation = first_; operation; operation = operation->next)
    if (operation->started_in != 0) remove(*operation);  // and still knows who comes next
  return told;
}

// A stream that has failed, as a GPU's does with its device, is a failure of all communication on
// it.
void Queue::complete(const std::function<bool()>& meanwhile) {
  refuse_in_capture();
  const std::optional<RequestError> captured = forget_captured();
  if (captured) base::log::error(captured->text());  // whatever else there is to be told
  enqueue_outstanding();
  try {
    stream_->synchronize(meanwhile);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::resources) fail(error);
    throw;
  }
  raise();
  settled_ = true;
  if (captured) throw RequestError(*captured);
}

void Queue::refuse_unwaited() const {
  if (failed()) return;
  if (companion_) companion_->refuse_free();
  for (const StreamOperation* operation = first_; operation; operation = operation->next)
    if (!operation->ends_with_queue())
      throw RequestError(*operation, ErrorKind::in_use,
                         " is open on the queue: enqueue its wait before the queue is freed");
}

void Queue::refuse_in_capture() const {
  if (stream_->capture() == 0) return;
  throw Error(ErrorKind::stream,
              "the queue's stream is being captured: wait for the queue, or free it, after the "
              "capture has ended");
}

bool Queue::test() {
  flush_batch();
  raise();
  if (outstanding() || !stream_->idle()) return false;
  settled_ = true;
  return true;
}

void Queue::raise_error() const {
  if (companion_) companion_->queue_has_failed(*error_.get());
  throw Error(*error_.get());
}

void Queue::fail(const Error& error) noexcept {
  if (!error_.set(error)) return;
  try {
    base::log::error(fmt::format("queue {}: {}", number_, error.text()));
  } catch (const std::exception&) {
    base::log::error("a queue has failed, and there is no memory to say why");
  }
  // A program that only synchronises its stream would go on computing with what never came.
  if (when_failed_) when_failed_(error);
}

void Queue::blocked_since(transport::Waiter& waiter) noexcept {
  const std::lock_guard lock(blocked_mutex_);
  blocked_ = BlockedWait{&waiter, std::chrono::steady_clock::now()};
}

void Queue::unblocked(transport::Waiter&) noexcept {
  const std::lock_guard lock(blocked_mutex_);
  blocked_.reset();
}

}  // namespace penstock::core
