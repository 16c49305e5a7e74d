// SPDX-License-Identifier: Apache-2.0
// The one place where src/protocol/rally.hpp is compiled for the explorer.
#include "protocol/rally/member.hpp"

#include "protocol/rally/port.hpp"

namespace penstock::explorer::rallies {

namespace {

namespace rally = protocol::rally;
using protocol::Progress;
using protocol::StartOutcome;

class Member {
 public:
  Member(const Scenario& scenario, State& state, Replay& hands)
      : scenario_(scenario),
        all_(state),
        hands_(hands),
        actor_(state.actors[hands.thread]),
        first_(scenario, state, hands, 0),
        results_(scenario, state, hands, 1),
        state_{actor_.done, actor_.line, actor_.sent, actor_.combined != 0} {}

  At call() {
    const At next = call_now();
    actor_.done = static_cast<std::uint8_t>(state_.done);
    actor_.line = static_cast<std::uint8_t>(state_.line);
    actor_.sent = static_cast<std::uint8_t>(state_.sent);
    actor_.combined = state_.combined;
    return next;
  }

 private:
  At call_now() {
    switch (actor_.at) {
      case At::start:
        return start();
      case At::enter:
        return may_enter(1) ? At::wait : At::enter;
      case At::wait:
        return wait_once() == Progress::ended ? end_epoch() : At::wait;
      case At::ask:
        return ask();
      case At::close:
        rally::close(first_, state_);
        return At::leave;
      default:
        return leave();
    }
  }

  Epoch epoch() const { return first_.epoch(); }
  bool is(Defect defect) const { return scenario_.defect == defect; }

  // A kernel begins when all blocks of those before have ended.
  bool may_enter(unsigned kernels_of_epoch) {
    if (scenario_.blocks == 1 || is(Defect::no_boundary)) return true;
    const unsigned kernels = actor_.done * (scenario_.apart ? 2u : 1u) + kernels_of_epoch;
    return change_ended(0) >= kernels * scenario_.blocks;
  }
  Value change_ended(unsigned by) {
    return hands_.modify(
        Places(scenario_).ended(first_.me()), Order::acq_rel,
        [&](Value value) { return value + by; }, "ENDED");
  }
  void end_kernel() {
    if (scenario_.blocks > 1) change_ended(1);
  }

  At start() {
    if (!may_enter(0)) return At::start;
    actor_.sum = {};
    if (scenario_.in_turns) {
      if (rally::member_closed(first_, epoch())) return close_at(epoch());
    } else if (is(Defect::starts_early)) {
      start_early();
    } else if (rally::start(first_, state_) != StartOutcome::started) {
      return close_at(epoch());
    }
    if (is(Defect::taken_late)) take_late();
    if (scenario_.apart) {
      end_kernel();
      return At::enter;
    }
    return wait_once() == Progress::ended ? end_epoch() : At::wait;
  }
  void start_early() {
    if (epoch() == 1) rally::send_lines(first_, 1);
    if (epoch() == scenario_.epochs) return;
    first_.set_epoch(epoch() + 1);
    rally::send_lines(first_, epoch());
    first_.set_epoch(epoch() - 1);
  }
  void take_late() {
    if (epoch() == 1) return;
    Port before(scenario_, all_, hands_, 0);
    before.set_epoch(epoch() - 1);
    for (unsigned from = 0; from < scenario_.members; ++from)
      if (from != before.me()) before.read(from, rally::slot_of(epoch() - 1), 0);
  }

  Progress wait_once() {
    if (is(Defect::takes_first)) return take_first();
    if (scenario_.in_turns) return rally::exchange(first_, state_, scenario_.ahead);
    return scenario_.flights == 1 ? rally::wait(first_, state_)
                                  : rally::wait(first_, results_, state_);
  }

  Progress take_first() {
    while (state_.line < first_.most_lines()) {
      const std::uint32_t line = state_.line;
      if (rally::take_line(first_, state_) == Progress::pending) return Progress::pending;
      rally::send_line(first_, epoch(), line);
    }
    state_ = {state_.done + 1};
    return Progress::ended;
  }

  At end_epoch() {
    for (unsigned line = 0; line < first_.most_lines(); ++line) check_sum(line);
    for (const Actor& other : all_.actors)
      if (protocol::closed_before(other.fails_from, epoch()))
        hands_.fail("an epoch ends though a member has failed before");
    end_kernel();
    if (epoch() < scenario_.epochs) return At::start;
    return scenario_.closes ? At::close : At::finished;
  }
  void check_sum(unsigned line) {
    const unsigned number = scenario_.blocks > 1 ? hands_.thread % scenario_.blocks : line;
    if (actor_.sum[line] != combined(scenario_, first_.me(), epoch(), number))
      hands_.fail("not combined in the order of the ranks");
  }

  // As a wait of the host's that has found nothing for some time.
  At ask() {
    if (!rally::member_closed(first_, epoch())) return At::wait;
    if (wait_once() == Progress::ended) return end_epoch();
    const Port& awaited = state_.combined ? results_ : first_;
    if (scenario_.members == 2 && awaited.is_there(state_.line))
      hands_.fail("what was sent before a member closed is missed");
    return close_at(epoch() + 1);
  }
  At close_at(Epoch first_not_served) {
    actor_.fails_from = static_cast<std::uint8_t>(first_not_served);
    return At::close;
  }

  At leave() {
    if (!is(Defect::reused_early) && !rally::all_closed(first_)) return At::leave;
    first_.reuse();
    if (scenario_.flights == 2) results_.reuse();
    return At::finished;
  }

  const Scenario& scenario_;
  State& all_;
  Replay& hands_;
  Actor& actor_;
  Port first_, results_;
  rally::State state_;
};

}  // namespace

At call_member(const Scenario& scenario, State& state, Replay& hands) {
  return Member(scenario, state, hands).call();
}

void release(const Scenario& scenario, Actor& actor) {
  actor.fails_from = static_cast<std::uint8_t>(actor.done + 2);
  actor.at = At::close;
  if (scenario.defect != Defect::goes_on) return;
  ++actor.done;
  actor.line = actor.sent = actor.combined = 0;
  actor.at = At::start;
}

}  // namespace penstock::explorer::rallies
