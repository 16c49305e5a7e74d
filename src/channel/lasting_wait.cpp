// SPDX-License-Identifier: Apache-2.0
#include "channel/lasting_wait.hpp"

#include <chrono>
#include <exception>
#include <utility>

#include "channel/channel_plan.hpp"

namespace penstock::channel {

namespace {

// As plan/host_plan.cpp has them.
constexpr std::chrono::milliseconds until_blocked{20};
constexpr std::uint32_t polls_before_clock = 512;
constexpr std::uint32_t polls_between_checks = 32;

}  // namespace

bool LastingWait::found_nothing(std::uint32_t unit, transport::Sink& sink) noexcept {
  if (++polls_ % polls_between_checks != 0) return false;
  if (blocked_ || polls_ < polls_before_clock || !lasts_.exceeds(until_blocked)) return true;
  try {
    set_label(plan_.grid().text(unit) + " of " + plan_.label());
  } catch (const std::exception&) {  // reports name no unit then
  }
  unit_ = unit;
  blocked_ = true;
  sink.blocked_since(*this);
  return true;
}

const base::Error* LastingWait::cancelled() const noexcept {
  return blocked_ && cancelled_.load(std::memory_order_acquire) ? &*cancel_error_ : nullptr;
}

void LastingWait::end_lasting(transport::Sink& sink) noexcept {
  polls_ = 0;
  lasts_.reset();
  if (!std::exchange(blocked_, false)) return;
  sink.unblocked(*this);
  // From here on nobody cancels this wait. A cancel that came too late to matter is forgotten.
  cancel_error_.reset();
  cancelled_.store(false, std::memory_order_relaxed);
  cancel_claimed_.store(false, std::memory_order_relaxed);
}

std::string LastingWait::describe() const {
  return plan_.describe_unit(unit_);
}

const char* LastingWait::advice() const noexcept {
  return plan_.sends()
             ? "see that the receiver waits for the unit and releases it as often as this "
               "rank puts it"
             : "see that the sender puts the unit, and waits for its put, as often as "
               "this rank waits for it";
}

void LastingWait::cancel_wait(const base::Error& error) noexcept {
  if (cancel_claimed_.exchange(true, std::memory_order_relaxed)) return;
  cancel_error_ = error;
  cancelled_.store(true, std::memory_order_release);
}

}  // namespace penstock::channel
