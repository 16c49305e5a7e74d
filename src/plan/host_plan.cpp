// SPDX-License-Identifier: Apache-2.0
#include "plan/host_plan.hpp"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <utility>

namespace penstock::plan {
namespace {

using base::Error;
using base::ErrorKind;
using base::trace::Clock;
using base::trace::TraceKind;
using device::host::Command;

using Ended = void (*)(void*);

device::host::Stream& host_stream(device::Stream& stream) noexcept {
  return static_cast<device::host::Stream&>(stream);
}

}  // namespace

void HostPlan::check_stream(const device::Stream& stream) const {
  if (stream.kind() != device::StreamKind::host)
    throw Error(ErrorKind::unsupported,
                label() +
                    ": the buffer is in host memory, which is served on "
                    "queues of type PST_QUEUE_HOST, and on those of a GPU "
                    "if the process had loaded its driver before the match");
}

void HostPlan::start(device::Stream& stream, transport::Sink& sink) {
  expect_start();
  host_stream(stream).push({sink.track() ? &traced_start_command : &start_command, this, &sink, 0});
}

void HostPlan::wait(device::Stream& stream, transport::Sink& sink) {
  host_stream(stream).push({sink.track() ? &traced_wait_command : &wait_command, this, &sink, 0});
  ++waits_enqueued_;
}

// Acquire: the wait's worker is done with the plan's private words, which the next stream's will
// use.
void HostPlan::hand_over(device::Stream*, device::Stream& next) {
  if (waits_ended_.load(std::memory_order_acquire) == waits_enqueued_) return;
  host_stream(next).await(waits_ended_, waits_enqueued_);
}

// One worker at a time: the next one begins when it has seen this.
void HostPlan::pass_on() noexcept {
  waits_ended_.store(waits_ended_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void HostPlan::close(device::Stream& stream, Ended ended, void* argument) {
  host_stream(stream).push(
      {&close_command, this, argument, reinterpret_cast<std::uintptr_t>(ended)});
}

void HostPlan::cancel_wait(const Error& error) noexcept {
  wait_.cancel(error);
}

void HostPlan::poison() noexcept {
  if (!poisoned_.exchange(true, std::memory_order_relaxed)) run_poison();
}

// The pair is done with, and the queue gets the error. In this order: who sees the queue's failure
// may free the request, and by then the peer must be able to know.
void HostPlan::fail_and_poison(transport::Sink& sink, const Error& error) noexcept {
  try {
    failure_.emplace(error.kind(), fmt::format("{}: {}", label(), error.text()));
  } catch (const std::exception&) {
    failure_ = error;
  }
  poison();
  sink.fail(*failure_);
}

bool HostPlan::start_command(Command& command) noexcept {
  return static_cast<HostPlan*>(command.object)
      ->start_step(*static_cast<transport::Sink*>(command.context));
}

bool HostPlan::wait_command(Command& command) noexcept {
  auto& plan = *static_cast<HostPlan*>(command.object);
  if (!plan.poll_step(*static_cast<transport::Sink*>(command.context))) return false;
  plan.pass_on();
  return true;
}

bool HostPlan::traced_start_command(Command& command) noexcept {
  auto& plan = *static_cast<HostPlan*>(command.object);
  auto& sink = *static_cast<transport::Sink*>(command.context);
  auto& trace = plan.trace_;
  if (!trace.starting) trace.triggered = Clock::now();
  trace.starting = !plan.start_step(sink);
  if (trace.starting) return false;
  sink.track()->record(
      {TraceKind::trigger, plan.traced(), ++trace.epoch, trace.triggered, Clock::now()});
  return true;
}

bool HostPlan::traced_wait_command(Command& command) noexcept {
  auto& plan = *static_cast<HostPlan*>(command.object);
  auto& sink = *static_cast<transport::Sink*>(command.context);
  auto& trace = plan.trace_;
  if (!trace.first_poll) trace.first_poll = Clock::now();
  if (!plan.poll_step(sink)) return false;
  const auto end = Clock::now();
  sink.track()->record({TraceKind::wait, plan.traced(), trace.epoch, *trace.first_poll, end});
  sink.track()->record({TraceKind::transfer, plan.traced(), trace.epoch, trace.triggered, end});
  trace.first_poll.reset();
  plan.pass_on();
  return true;
}

std::optional<Error> HostPlan::start_or_say_why(bool& later) noexcept {
  try {
    return run_start(later);
  } catch (const std::exception&) {
    return Error(ErrorKind::resources);
  }
}

std::optional<Error> HostPlan::say_why_hopeless() noexcept {
  try {
    return hopeless();
  } catch (const std::exception&) {
    return Error(ErrorKind::resources);
  }
}

bool HostPlan::start_step(transport::Sink& sink) noexcept {
  bool later = false;
  // Nothing is sent on after a failure: it may be stale. The peer is told, so that it does not wait
  // for it.
  if (sink.failed()) {
    poison();
  } else if (!poisoned()) {
    if (const auto error = start_or_say_why(later)) fail_and_poison(sink, *error);
  } else if (failure_) {
    sink.fail(*failure_);
  } else {
    fail_and_poison(sink, base::error_by(ErrorKind::transport, [] {
                      return "the pair was given up when another queue failed; free the request";
                    }));
  }
  return !later;
}

bool HostPlan::poll_step(transport::Sink& sink) noexcept {
  // After a start that failed or was suppressed there is no message to wait for.
  if (poisoned()) return wait_until_untouched(sink);
  if (run_wait()) return end_wait(sink);
  return wait_again(sink);
}

// The program uses the buffer behind this wait, whatever became of the message.
bool HostPlan::wait_until_untouched(transport::Sink& sink) noexcept {
  if (run_untouched()) return end_wait(sink);
  if (wait_.found_nothing()) tell_if_it_lasts(sink);
  return false;
}

bool HostPlan::wait_again(transport::Sink& sink) noexcept {
  if (wait_.begins() && sink.failed()) {
    poison();
    return wait_until_untouched(sink);
  }
  const bool asks = wait_.found_nothing();
  if (const Error* const cancelled = wait_.cancelled()) {
    fail_and_poison(sink, *cancelled);
    return wait_until_untouched(sink);
  }
  if (!asks) return false;
  if (const auto reason = say_why_hopeless()) {
    // What the wait is for may have come just before its sender went.
    if (run_wait()) return end_wait(sink);
    fail_and_poison(sink, *reason);
    return wait_until_untouched(sink);
  }
  tell_if_it_lasts(sink);
  return false;
}

void HostPlan::tell_if_it_lasts(transport::Sink& sink) noexcept {
  if (wait_.is_to_be_told()) wait_.tell(*this, sink);
}

bool HostPlan::end_wait(transport::Sink& sink) noexcept {
  wait_.end(*this, sink);
  return true;
}

bool HostPlan::close_command(Command& command) noexcept {
  auto& plan = *static_cast<HostPlan*>(command.object);
  plan.run_close();
  const auto ended = reinterpret_cast<Ended>(static_cast<std::uintptr_t>(command.value));
  ended(command.context);  // last: the plan may be gone when it returns
  return true;
}

}  // namespace penstock::plan
