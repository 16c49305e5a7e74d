// SPDX-License-Identifier: Apache-2.0
#include "coll/scheduled_plan.hpp"

#include <algorithm>
#include <utility>

namespace penstock::coll {

using transport::PairState;
using transport::Plan;

ScheduledPlan::ScheduledPlan(std::string algorithm, std::shared_ptr<const Schedule> schedule,
                             std::unique_ptr<LocalSteps> steps,
                             std::vector<std::unique_ptr<Plan>>&& ends)
    : algorithm_(std::move(algorithm)),
      schedule_(std::move(schedule)),
      steps_(std::move(steps)),
      phases_(schedule_->phases.size()) {
  std::size_t end = 0;
  for (std::size_t phase = 0; phase < phases_.size(); ++phase) {
    for (const Receive& receive : schedule_->phases[phase].receives) {
      phases_[receive.start].receives.push_back(ends[end].get());
      phases_[phase].waited.push_back(ends[end++].get());
    }
  }
  for (std::size_t phase = 0; phase < phases_.size(); ++phase)
    for (std::size_t sends = schedule_->phases[phase].sends.size(); sends > 0; --sends)
      phases_[phase].sends.push_back(ends[end++].get());
  while (first_wait_ < phases_.size() && phases_[first_wait_].empty()) ++first_wait_;
  ends_ = std::move(ends);  // last: nothing throws behind it
}

void ScheduledPlan::check_stream(const device::Stream& stream) const {
  if (steps_) steps_->check_stream(label(), stream);
  for (const auto& end : ends_) end->check_stream(stream);
}

void ScheduledPlan::begin(std::size_t phase, device::Stream& stream, transport::Sink& sink) {
  if (!schedule_->phases[phase].steps.empty()) steps_->enqueue(phase, stream, sink);
  for (Plan* receive : phases_[phase].receives) receive->start(stream, sink);
  for (Plan* send : phases_[phase].sends) send->start(stream, sink);
}

// Room for the wait is made, too: what has been started must be waited for.
void ScheduledPlan::start(device::Stream& stream, transport::Sink& sink) {
  stream.make_room(2 * ends_.size() + phases_.size() + 1);
  for (std::size_t i = 0; i < phases_.size() && i <= first_wait_; ++i) begin(i, stream, sink);
}

// What an enqueue call gathers is launched in no order of its own: so a phase that needs what the
// one before has received begins behind a flush.
void ScheduledPlan::wait(device::Stream& stream, transport::Sink& sink) {
  for (std::size_t i = first_wait_; i < phases_.size(); ++i) {
    if (i > first_wait_) {
      stream.flush();
      begin(i, stream, sink);
    }
    for (Plan* receive : phases_[i].waited) receive->wait(stream, sink);
    for (Plan* send : phases_[i].sends) send->wait(stream, sink);
  }
  if (steps_) steps_->end_wait(stream);
}

void ScheduledPlan::hand_over(device::Stream* last, device::Stream& next) {
  for (const auto& end : ends_) end->hand_over(last, next);
  if (steps_) steps_->hand_over(last, next);
}

void ScheduledPlan::wait_flushed(device::Stream& stream) noexcept {
  for (const auto& end : ends_) end->wait_flushed(stream);
  if (steps_) steps_->wait_flushed(stream);
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
  if (steps_)
    steps_->close(stream, &Closing::one_ended, &closing_);
  else
    Closing::one_ended(&closing_);
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
