// SPDX-License-Identifier: Apache-2.0
#include "peer/rally_plan.hpp"

#include <fmt/format.h>

#include <utility>

#include "plan/peer_closed.hpp"

namespace penstock::peer {

namespace rally = protocol::rally;
using base::Error;
using base::ErrorKind;
using protocol::Epoch;

RallyPlan::RallyPlan(RallyPort port, std::vector<int> members, Holding holding, Retired& retired)
    : port_(std::move(port)),
      members_(std::move(members)),
      holding_(std::move(holding)),
      over_([mine = port_]() mutable { return rally::all_closed(mine); }),
      retired_(retired) {}

// A plan that has not closed has not been agreed on: nobody stores.
RallyPlan::~RallyPlan() {
  if (closed_) retired_.add(std::move(holding_), std::move(over_));
}

// Of a dead member the wait tells.
transport::PairState RallyPlan::pair_state(Epoch epoch) const noexcept {
  return state_by(rally::member_closed(port_, epoch) && !port_.is_dead(closed_member(epoch)));
}

// "epoch 17, direct exchange, waits for rank 1, 3"
std::string RallyPlan::describe() const {
  const Epoch epoch = epoch_.load(std::memory_order_relaxed);
  std::string missing;
  for (unsigned member = 0; member < port_.members(); ++member) {
    const rally::State at_last_line{epoch - 1, port_.lines_from(member) - 1};
    if (rally::misses(port_, at_last_line, member))
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", members_[member]);
  }
  return fmt::format("epoch {}, direct exchange, waits for rank {}", epoch, missing);
}

std::optional<Error> RallyPlan::run_start(bool& /*later*/) {
  epoch_.store(next(), std::memory_order_relaxed);
  if (rally::start(port_, state_) == protocol::StartOutcome::started) [[likely]]
    return std::nullopt;
  return why_closed();
}

bool RallyPlan::run_wait() noexcept {
  return rally::wait(port_, state_) == protocol::Progress::ended;
}

std::optional<Error> RallyPlan::hopeless() {
  if (!rally::member_closed(port_, next())) return std::nullopt;
  return why_closed();
}

void RallyPlan::run_close() noexcept {
  if (!std::exchange(closed_, true)) rally::close(port_, state_);
}

// CLOSED is never taken back, and nobody comes to life: who has been found before is found again.
unsigned RallyPlan::closed_member(Epoch epoch) const noexcept {
  unsigned member = 0;
  while (member == port_.me() || !protocol::closed_before(port_.load_closed(member), epoch))
    ++member;
  return member;
}

Error RallyPlan::why_closed() const {
  const unsigned member = closed_member(next());
  const int rank = members_[member];
  if (port_.is_dead(member)) return plan::dead_error(rank, next());
  return plan::member_closed_error(rank, next());
}

}  // namespace penstock::peer
