// SPDX-License-Identifier: Apache-2.0
#include "coll/scheduled_plan.hpp"

#include <algorithm>
#include <utility>

#include "device/host/stream.hpp"

namespace penstock::coll {

using device::host::Command;
using transport::PairState;
using transport::Plan;

namespace {

device::host::Stream& host_stream(device::Stream& stream) noexcept {
  return static_cast<device::host::Stream&>(stream);
}

// Release: the stream that waits for the word sees what this one has done.
bool end_command(Command& command) noexcept {
  auto& ended = *static_cast<std::atomic<std::uint64_t>*>(command.object);
  ended.store(command.value, std::memory_order_release);
  return true;
}

bool close_command(Command& command) noexcept {
  reinterpret_cast<void (*)(void*)>(static_cast<std::uintptr_t>(command.value))(command.object);
  return true;
}

}  // namespace

ScheduledPlan::ScheduledPlan(std::string algorithm, Schedule schedule,
                             std::unique_ptr<std::byte[]> temporary, const Memory& memory,
                             const Combination& combination,
                             std::vector<std::unique_ptr<Plan>> ends)
    : algorithm_(std::move(algorithm)),
      schedule_(std::move(schedule)),
      temporary_(std::move(temporary)),
      memory_(memory),
      combination_(combination),
      ends_(std::move(ends)),
      steps_(schedule_.phases.size()) {
  std::size_t end = 0;
  for (std::size_t phase = 0; phase < steps_.size(); ++phase) {
    steps_[phase].plan = this;
    steps_[phase].phase = &schedule_.phases[phase];
    for (const Receive& receive : schedule_.phases[phase].receives) {
      steps_[receive.start].receives.push_back(ends_[end].get());
      steps_[phase].waited.push_back(ends_[end++].get());
    }
  }
  for (Step& step : steps_)
    for (std::size_t sends = step.phase->sends.size(); sends > 0; --sends)
      step.sends.push_back(ends_[end++].get());
  while (first_wait_ < steps_.size() && !steps_[first_wait_].has_messages()) ++first_wait_;
}

void ScheduledPlan::check_stream(const device::Stream& stream) const {
  if (stream.kind() != device::StreamKind::host)
    throw base::Error(base::ErrorKind::unsupported,
                      label() + ": collectives are served on queues of type PST_QUEUE_HOST");
  for (const auto& end : ends_) end->check_stream(stream);
}

// What has not come is not combined, and nothing stale is sent on: the sends behind it find the
// failed queue, too.
bool ScheduledPlan::work_command(Command& command) noexcept {
  const auto& step = *static_cast<const Step*>(command.object);
  if (static_cast<transport::Sink*>(command.context)->failed()) return true;
  for (const LocalStep& work : step.phase->steps)
    carry_out(work, step.plan->memory_, step.plan->combination_);
  return true;
}

void ScheduledPlan::begin(const Step& step, device::Stream& stream, transport::Sink& sink) {
  if (!step.phase->steps.empty())
    host_stream(stream).push({&work_command, const_cast<Step*>(&step), &sink, 0});
  for (Plan* receive : step.receives) receive->start(stream, sink);
  for (Plan* send : step.sends) send->start(stream, sink);
}

// Room for the wait is made, too: what has been started must be waited for.
void ScheduledPlan::start(device::Stream& stream, transport::Sink& sink) {
  stream.make_room(2 * ends_.size() + steps_.size() + 1);
  for (std::size_t i = 0; i < steps_.size() && i <= first_wait_; ++i)
    begin(steps_[i], stream, sink);
}

void ScheduledPlan::wait(device::Stream& stream, transport::Sink& sink) {
  for (std::size_t i = first_wait_; i < steps_.size(); ++i) {
    if (i > first_wait_) begin(steps_[i], stream, sink);
    for (Plan* receive : steps_[i].waited) receive->wait(stream, sink);
    for (Plan* send : steps_[i].sends) send->wait(stream, sink);
  }
  host_stream(stream).push({&end_command, &waits_ended_, nullptr, ++waits_enqueued_});
}

// The last work of a wait may be its member's own, which no pair knows of.
void ScheduledPlan::hand_over(device::Stream* last, device::Stream& next) {
  for (const auto& end : ends_) end->hand_over(last, next);
  if (waits_ended_.load(std::memory_order_acquire) != waits_enqueued_)
    host_stream(next).await(waits_ended_, waits_enqueued_);
}

void ScheduledPlan::wait_flushed(device::Stream& stream) noexcept {
  for (const auto& end : ends_) end->wait_flushed(stream);
}

void ScheduledPlan::launch_gathered(device::Stream& stream) noexcept {
  for (const auto& end : ends_) end->launch_gathered(stream);
}

void ScheduledPlan::Closing::one_ended(void* closing) {
  auto& own = *static_cast<Closing*>(closing);
  if (own.left.fetch_sub(1, std::memory_order_acq_rel) == 1) own.ended(own.argument);
}

// One more than there are pairs, as the last of them may end before the next one is told.
void ScheduledPlan::close(device::Stream& stream, void (*ended)(void*), void* argument) {
  closing_.left.store(ends_.size() + 1, std::memory_order_relaxed);
  closing_.ended = ended;
  closing_.argument = argument;
  for (const auto& end : ends_) end->close(stream, &Closing::one_ended, &closing_);
  host_stream(stream).push(
      {&close_command, &closing_, nullptr, reinterpret_cast<std::uintptr_t>(&Closing::one_ended)});
}

void ScheduledPlan::close() {
  for (const auto& end : ends_) end->close();
}

PairState ScheduledPlan::pair_state(transport::Epoch epoch) const noexcept {
  for (const auto& end : ends_)
    if (const PairState state = end->pair_state(epoch); state != PairState::serves) return state;
  return PairState::serves;
}

std::string ScheduledPlan::path() const {
  return ends_.empty() ? algorithm_ : algorithm_ + " over " + ends_.front()->path();
}

void ScheduledPlan::cancel_wait(const base::Error& error) noexcept {
  for (const auto& end : ends_) end->cancel_wait(error);
}

}  // namespace penstock::coll
