// SPDX-License-Identifier: Apache-2.0
#include "core/queue.hpp"

#include <utility>

#include "base/log.hpp"
#include "core/operation_error.hpp"

namespace penstock::core {

using base::Error;
using base::ErrorKind;
using base::trace::Clock;
using base::trace::Kind;

Queue::Queue(std::shared_ptr<device::Stream> stream, std::shared_ptr<void> lease, std::uint64_t number,
             std::function<void(const Error&)> when_failed, base::trace::QueueTrace* trace)
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

void Queue::add(Operation& operation) noexcept {
  operation.started_on = this;
  operation.previous = last_;
  operation.next = nullptr;
  (last_ ? last_->next : first_) = &operation;
  last_ = &operation;
}

void Queue::remove(Operation& operation) noexcept {
  operation.started_on = nullptr;
  (operation.previous ? operation.previous->next : first_) = operation.next;
  (operation.next ? operation.next->previous : last_) = operation.previous;
}

void Queue::check_start(Operation& operation) const {
  if (!operation.matched())
    throw OperationError(operation, ErrorKind::not_matched, " has not been matched: call PST_Match first");
  if (operation.started_on)
    throw OperationError(operation, ErrorKind::already_started,
                         " has been started and no wait has been enqueued since: enqueue PST_Enqueue_wait first");
  if (operation.peer_closed())
    throw OperationError(operation, ErrorKind::peer_freed, ": the peer has freed its half of the pair");
  operation.check_stream(*stream_);
}

void Queue::check_wait(const Operation& operation, std::uint64_t capture) const {
  if (!operation.matched())
    throw OperationError(operation, ErrorKind::not_matched, " has not been matched: call PST_Match first");
  if (!operation.started_on)
    throw OperationError(operation, ErrorKind::not_started, " has not been started: enqueue PST_Enqueue_start first");
  if (operation.started_on != this)
    throw OperationError(operation, ErrorKind::wrong_queue,
                         " was started on another queue: enqueue its wait on that one");
  if (operation.started_in != capture)
    throw OperationError(
        operation, ErrorKind::not_started,
        " was not started in the same graph capture as its wait: have both inside it, or both outside");
}

// Joining the list is part of the check, so that a request that occurs twice in one array is found; a failure takes
// the earlier ones out again, and nothing has been enqueued.
void Queue::start(std::size_t count, Operation* const* operations) {
  raise();
  std::size_t checked = 0;
  try {
    for (; checked < count; ++checked) {
      check_start(*operations[checked]);
      add(*operations[checked]);
    }
  } catch (...) {
    while (checked-- > 0) remove(*operations[checked]);
    throw;
  }
  const std::uint64_t capture = stream_->capture();
  if (trace_) [[unlikely]]
    return trace_starts(count, operations, capture);
  for (std::size_t i = 0; i < count; ++i) {
    operations[i]->started_in = capture;
    operations[i]->enqueue_start(stream_, *this);
  }
  stream_->flush();
}

void Queue::wait(std::size_t count, Operation* const* operations) {
  raise();
  const std::uint64_t capture = stream_->capture();
  std::size_t checked = 0;
  try {
    for (; checked < count; ++checked) {
      check_wait(*operations[checked], capture);
      remove(*operations[checked]);
    }
  } catch (...) {
    while (checked-- > 0) add(*operations[checked]);
    throw;
  }
  if (trace_) [[unlikely]]
    return trace_waits(count, operations);
  for (std::size_t i = 0; i < count; ++i) operations[i]->enqueue_wait(*stream_, *this);
  stream_->flush();
}

// The spans of a call's requests, one after the other. What the stream does at the end of the call is part of the last.
template <class Enqueue>
void Queue::trace_calls(Kind call, std::size_t count, Operation* const* operations, Enqueue&& enqueue) {
  for (std::size_t i = 0; i < count; ++i) {
    Operation& operation = *operations[i];
    const auto begin = Clock::now();
    enqueue(operation);
    if (i + 1 == count) stream_->flush();
    if (const auto* message = operation.traced())
      trace_->calls.record({call, *message, operation.starts(), begin, Clock::now()});
  }
}

void Queue::trace_starts(std::size_t count, Operation* const* operations, std::uint64_t capture) {
  trace_calls(Kind::start_call, count, operations, [this, capture](Operation& operation) {
    operation.started_in = capture;
    operation.enqueue_start(stream_, *this);
  });
}

void Queue::trace_waits(std::size_t count, Operation* const* operations) {
  trace_calls(Kind::wait_call, count, operations,
              [this](Operation& operation) { operation.enqueue_wait(*stream_, *this); });
}

void Queue::enqueue_outstanding() {
  while (first_) {
    Operation* const operation = first_;
    remove(*operation);
    if (trace_) [[unlikely]]
      trace_waits(1, &operation);
    else
      operation->enqueue_wait(*stream_, *this);
  }
  stream_->flush();
}

void Queue::wait_outstanding() {
  raise();
  enqueue_outstanding();
}

void Queue::complete(const std::function<void()>& meanwhile) {
  if (stream_->capture() != 0)
    throw Error(ErrorKind::stream,
                "the queue's stream is being captured: wait for the queue after the capture has ended");
  enqueue_outstanding();
  stream_->synchronize(meanwhile);
  raise();
}

bool Queue::test() {
  raise();
  return !first_ && stream_->idle();
}

void Queue::refuse_on_worker(const char* call) const {
  if (stream_->on_worker())
    throw Error(ErrorKind::stream, std::string(call) +
                                       " cannot be called by a function that runs on the queue's stream: it would "
                                       "wait for itself");
}

void Queue::raise() const {
  if (!failed()) return;
  const std::lock_guard lock(error_mutex_);
  throw Error(*error_);
}

void Queue::fail(const Error& error) noexcept {
  {
    const std::lock_guard lock(error_mutex_);
    if (error_) return;
    error_ = error;
    failed_.store(true, std::memory_order_release);
  }
  base::log::error("queue " + std::to_string(number_) + ": " + error.text());
  // A program that only synchronises its stream would go on computing with what never came.
  if (when_failed_) when_failed_(error);
}

void Queue::blocked_since(transport::Plan& plan) noexcept {
  const std::lock_guard lock(blocked_mutex_);
  blocked_ = BlockedWait{&plan, std::chrono::steady_clock::now()};
}

void Queue::unblocked(transport::Plan&) noexcept {
  const std::lock_guard lock(blocked_mutex_);
  blocked_.reset();
}

void Queue::look_at_blocked(const std::function<void(const BlockedWait&)>& look) {
  const std::lock_guard lock(blocked_mutex_);
  if (blocked_) look(*blocked_);
}

}  // namespace penstock::core
