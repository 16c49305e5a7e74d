// SPDX-License-Identifier: Apache-2.0
#include "channel/channel_plan.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/log.hpp"

namespace penstock::channel {

using base::Error;
using base::ErrorKind;
using device::host::Command;

namespace {

constexpr char use_these_calls[] =
    " is a channel, which PST_Channel_put, PST_Channel_put_wait, PST_Channel_wait and "
    "PST_Channel_release enqueue, not the calls of messages";

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

struct ChannelPlan::Caller final : UsedStream {
  Caller(ChannelPlan& of, const std::shared_ptr<device::Stream>& stream)
      : UsedStream(stream), plan(of), wait(of) {}

  ChannelPlan& plan;
  LastingWait wait;  // of the call that the stream is at
};

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

void ChannelPlan::enqueue(Verb verb, UnitRange units, const std::shared_ptr<device::Stream>& stream,
                          transport::Sink& sink) {
  constexpr std::array steps{&step<Verb::put>, &step<Verb::put_wait>, &step<Verb::wait>,
                             &step<Verb::release>};
  Caller& caller = used_by<Caller>([&](const Caller& each) { return each.is(*stream); },
                                   [&] { return new Caller(*this, stream); });
  host_stream(*stream).push(
      {steps[static_cast<std::size_t>(verb)], &caller, &sink, Call{units}.value()});
}

// ---- On the workers of streams

template <Verb verb>
bool ChannelPlan::step(Command& command) noexcept {
  auto& caller = *static_cast<Caller*>(command.object);
  Call call = Call::from(command.value);
  const bool ended = caller.plan.carry_out(verb, call, caller.wait,
                                           *static_cast<transport::Sink*>(command.context));
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

// Nobody else would: a put never waits, and the receiver's error is the receiver's.
void ChannelPlan::tell_of_left(std::uint32_t units, std::uint32_t first) const noexcept {
  if (units == 0) return;
  base::log::failures_in([&] {
    base::log::warn(fmt::format(
        "{} has been freed with {} put and not sent, from {} on: the receiver had not "
        "released what it had, and no PST_Channel_put_wait behind the put has waited "
        "for that. Enqueue one for all that is put, before PST_Request_free",
        label(), units == 1 ? "a unit" : fmt::format("{} units", units), grid_.text(first)));
  });
}

// The program uses the buffer behind a wait, whatever became of the messages.
bool ChannelPlan::end_given_up(Verb verb, const Call& call, transport::Sink& sink) noexcept {
  sink.fail(*failure_.get());
  return verb == Verb::put || verb == Verb::release || untouched(call);
}

}  // namespace penstock::channel
