// SPDX-License-Identifier: Apache-2.0
#include "channel/channel_plan.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <utility>

#include "base/backoff.hpp"

namespace penstock::channel {

using base::Error;
using base::ErrorKind;
using device::host::Command;

namespace {

constexpr char use_these_calls[] =
    " is a channel, which PST_Channel_put, PST_Channel_put_wait, PST_Channel_wait and "
    "PST_Channel_release enqueue, not the calls of messages";

device::host::Stream& host_stream(device::Stream& stream) noexcept {
  return static_cast<device::host::Stream&>(stream);
}

constexpr int count_bit = 31, begun_bit = 62;

}  // namespace

ChannelPlan::Call ChannelPlan::Call::from(std::uint64_t value) noexcept {
  constexpr std::uint64_t mask = (std::uint64_t{1} << count_bit) - 1;
  return {{static_cast<std::uint32_t>(value & mask),
           static_cast<std::uint32_t>((value >> count_bit) & mask)},
          (value >> begun_bit) != 0};
}

std::uint64_t ChannelPlan::Call::value() const noexcept {
  return units.first | (std::uint64_t{units.count} << count_bit) |
         (std::uint64_t{begun} << begun_bit);
}

struct ChannelPlan::UsedStream {
  ChannelPlan& plan;
  std::weak_ptr<device::Stream> stream;
  const device::Stream* address;  // no other stream can have it while there is a weak owner
  UsedStream* next;
  LastingWait wait;                           // of the call that the stream is at
  std::shared_ptr<device::Stream> closing{};  // kept until it has its part of the close
};

ChannelPlan::~ChannelPlan() {
  for (UsedStream* each = streams_.load(std::memory_order_acquire); each;)
    delete std::exchange(each, each->next);
}

// ---- Calls

void ChannelPlan::check_stream(const device::Stream&) const {
  throw Error(ErrorKind::unsupported, label() + use_these_calls);
}

void ChannelPlan::check(const device::Stream& stream) const {
  if (stream.kind() != device::StreamKind::host)
    throw Error(ErrorKind::unsupported,
                "channels are served on queues over streams of the host alone, of type "
                "PST_QUEUE_HOST");
  if (const Error* const failure = failure_.get())
    throw Error(failure->kind(),
                fmt::format("the channel has been given up: {}: free it, and match a new one on "
                            "both ends",
                            failure->text()));
}

void ChannelPlan::enqueue(Verb verb, Units units, const std::shared_ptr<device::Stream>& stream,
                          transport::Sink& sink) {
  constexpr std::array steps{&step<Verb::put>, &step<Verb::put_wait>, &step<Verb::wait>,
                             &step<Verb::release>};
  UsedStream* const used = note(stream);
  host_stream(*stream).push(
      {steps[static_cast<std::size_t>(verb)], used, &sink, Call{units}.value()});
}

// Without a lock, as calls on several queues come at once. Mostly the stream is there.
ChannelPlan::UsedStream* ChannelPlan::note(const std::shared_ptr<device::Stream>& stream) {
  UsedStream* first = streams_.load(std::memory_order_acquire);
  for (UsedStream* each = first; each; each = each->next)
    if (each->address == stream.get()) return each;
  auto* const used = new UsedStream{*this, stream, stream.get(), first, LastingWait(*this)};
  while (!streams_.compare_exchange_weak(used->next, used, std::memory_order_acq_rel)) continue;
  return used;
}

// ---- On the workers of streams

template <Verb verb>
bool ChannelPlan::step(Command& command) noexcept {
  auto& used = *static_cast<UsedStream*>(command.object);
  Call call = Call::from(command.value);
  const bool ended =
      used.plan.carry_out(verb, call, used.wait, *static_cast<transport::Sink*>(command.context));
  command.value = call.value();
  return ended;
}

bool ChannelPlan::carry_out(Verb verb, Call& call, LastingWait& wait,
                            transport::Sink& sink) noexcept {
  // Nothing is sent on after a failure of the queue: it may be stale.
  if (!std::exchange(call.begun, true)) {
    if (sink.failed())
      give_up(*sink.error());
    else if (const auto error = misuse(verb, call))
      give_up(*error);
  }
  const bool ended = (!failure() && advance_all(verb, call, wait, sink)) ||
                     (failure() && end_given_up(verb, call, sink));
  if (ended) wait.end(sink);
  return ended;
}

void ChannelPlan::give_up(const Error& error) noexcept {
  failure_.set(error);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  tell_given_up();
}

// The program uses the buffer behind a wait, whatever became of the messages.
bool ChannelPlan::end_given_up(Verb verb, const Call& call, transport::Sink& sink) noexcept {
  sink.fail(*failure_.get());
  return verb == Verb::put || verb == Verb::release || untouched(call);
}

// ---- The end

// By who calls, where no stream is there that looks again: the receives of a match may be under
// way, and the program may use the buffer behind this. Nothing holds up what is given up but a copy
// that another processor has begun.
void ChannelPlan::close() {
  base::Backoff backoff(std::chrono::microseconds{0});
  while (!close_units()) backoff.pause();
}

void ChannelPlan::close(device::Stream&, void (*ended)(void*), void* argument) {
  close_behind_own_streams(ended, argument);
}

// The last of the streams to get there closes all units.
bool ChannelPlan::close_step(Command& command) noexcept {
  auto& plan = *static_cast<ChannelPlan*>(command.object);
  if (std::exchange(command.value, 1) == 0 &&
      plan.streams_left_.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return true;
  if (!plan.close_units()) return false;
  plan.ended_(plan.argument_);  // last: the plan may be gone when it returns
  return true;
}

bool ChannelPlan::close_behind_own_streams(void (*ended)(void*), void* argument) noexcept {
  ended_ = ended;
  argument_ = argument;
  UsedStream* const first = streams_.load(std::memory_order_acquire);
  std::uint32_t left = 0;
  for (UsedStream* each = first; each; each = each->next)
    if ((each->closing = each->stream.lock())) ++left;
  streams_left_.store(left, std::memory_order_release);
  // The last stream's part may be done, and the plan be gone, as soon as it is pushed.
  for (UsedStream* each = first; left > 0;) {
    const auto stream = std::move(std::exchange(each, each->next)->closing);
    if (!stream) continue;
    host_stream(*stream).push({&close_step, this, nullptr, 0});
    if (--left == 0) return true;
  }
  close();
  ended(argument);
  return true;
}

}  // namespace penstock::channel
