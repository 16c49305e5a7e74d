// SPDX-License-Identifier: Apache-2.0
// MPI fetches with its receive: as proxy does.
#pragma once

#include <array>
#include <set>
#include <string>

#include "protocol/giving_up/rules.hpp"
#include "protocol/state_search.hpp"

namespace penstock::protocol::giving_up {

struct MpiHalf {
  Program program;
  Small issued = 0, complete = 0;
  Small active = 0;     // MPI has its operation of epoch `issued`
  Small cancelled = 0;  // that one is given up: its end counts for nothing
  Small stopped = 0;    // it issues nothing more
  // The notice, once it is wanted; 1: it has left, 2: as an answer too.
  Small notice = 0, told = 0;
  // The peer's notice and what is in it, as on their way and as they have come; and that of a
  // receive which follows ours.
  Small on_its_way = 0, its_asks = 0, its_answers = 0, second = 0;
  Small closed = 0, asked = 0, answered = 0;
};

struct MpiState {
  std::array<MpiHalf, 2> halves{};
  Small fetching = 0;  // MPI has matched a send with a receive, and moves the bytes
  Small queued = 0;    // MPI has put off a send, and reads its buffer later; what follows waits
};

class MpiModel : public StateSearch<MpiState> {
 public:
  explicit MpiModel(const Rules& rules) : rules_(rules) {}
  const std::set<std::string>& happened() const { return happened_; }

 private:
  void step() override {
    if (now_.queued != 0 && now_.halves[sender].program.back != 0)
      fault("a buffer is read that is the program's");
    if (now_.fetching != 0)
      for (const Side side : {sender, receiver})
        if (now_.halves[side].program.back != 0)
          fault(side == sender ? "a buffer is read that is the program's"
                               : "a buffer is written that is the program's");
    for (const Side side : {sender, receiver}) {
      run(side);
      fail_or_calm_down(side);
      issue(side);
      send_notice(side);
      hear(side);
      get_back(side);
    }
    move();
  }

  bool may_end() const override { return giving_up::may_end(now_.halves); }

  void run(Side side) {
    const MpiHalf& half = now_.halves[side];
    const auto next_epoch = static_cast<Small>(half.program.waited + 1);
    if (half.program.failed != 0) return;
    MpiState next = now_;
    if (half.program.started > half.program.waited) {
      if (closed_before(half.closed, next_epoch)) return fail_now(side);
      if (half.complete < next_epoch) return;
      ++next.halves[side].program.waited;
      return go(next);
    }
    if (next_epoch > epochs || half.program.calm != 0) return;
    if (closed_before(half.closed, next_epoch)) return fail_now(side);
    ++next.halves[side].program.started;
    go(next);
  }

  // Another pair of the same queue may be the reason for the failure.
  void fail_or_calm_down(Side side) {
    if (now_.halves[side].program.failed != 0 || now_.halves[side].program.calm != 0) return;
    fail_now(side);
    MpiState next = now_;
    next.halves[side].program.calm = 1;
    go(next);
  }

  void issue(Side side) {
    const MpiHalf& half = now_.halves[side];
    if (half.active != 0 || half.stopped != 0 || half.issued == half.program.started) return;
    if (rules_.peer_closed_stops_receives && closed_before(half.closed, half.issued + 1u)) return;
    MpiState next = now_;
    ++next.halves[side].issued;
    next.halves[side].active = 1;
    go(next);
    if (side == receiver) return;
    next.queued = 1;
    go(next);
  }

  void fail_now(Side side) {
    MpiState next = now_;
    MpiHalf& half = next.halves[side];
    half.program.failed = 1;
    half.stopped = 1;
    if (half.notice == 0) half.notice = static_cast<Small>(half.program.waited + 1);
    give_up(next, side);
    go(next);
  }

  // MPI cancels a receive that has met no send; of sends it may cancel none.
  void give_up(MpiState& state, Side side) {
    MpiHalf& half = state.halves[side];
    if (half.active == 0) return;
    half.cancelled = 1;
    if (side == receiver && state.fetching == 0) half.active = half.cancelled = 0;
  }

  // As ProxyEngine::send_notice() and answer_end().
  void send_notice(Side side) {
    const MpiHalf& half = now_.halves[side];
    if (half.notice == 0 || !rules_.may_part_from_mpi(side == sender, half.active != 0)) return;
    MpiState next = now_;
    MpiHalf& to = next.halves[other(side)];
    const bool answers = side == receiver && half.closed != 0;
    if (half.told == 0) {
      to.on_its_way = half.notice;
      to.its_asks = side == sender && half.active != 0;
      to.its_answers = answers;
      next.halves[side].told = answers ? 2 : 1;
      return go(next);
    }
    if (half.told == 2 || !answers || half.asked == 0 || !rules_.receives_answer_twice) return;
    happened_.insert("a receive answers after its notice");
    to.second = 1;
    next.halves[side].told = 2;
    go(next);
  }

  void hear(Side side) {
    MpiState next = now_;
    MpiHalf& half = next.halves[side];
    if (half.on_its_way == 0) {
      if (half.second == 0) return;
      half.second = 0;
      half.answered = 1;
      return go(next);
    }
    if (side == receiver && now_.queued != 0) return;  // it stands behind the message
    half.closed = half.on_its_way;
    half.asked = half.its_asks;
    half.answered = half.its_answers;
    half.on_its_way = half.its_asks = half.its_answers = 0;
    if (half.active != 0 && half.issued >= half.closed) give_up(next, side);
    if (side == receiver && half.notice == 0 && rules_.receives_part_by_themselves) {
      happened_.insert("a receive parts by itself");
      half.notice = half.closed;
    }
    go(next);
  }

  void get_back(Side side) {
    const MpiHalf& half = now_.halves[side];
    if (half.program.failed == 0 || half.program.back != 0) return;
    const bool answered = half.answered != 0 || (rules_.any_notice_answers && half.closed != 0);
    if (side == sender ? !rules_.send_is_untouched(half.active != 0, answered) : half.active != 0)
      return;
    if (half.active != 0) happened_.insert("MPI keeps a send that no receive takes");
    MpiState next = now_;
    next.halves[side].program.back = 1;
    go(next);
  }

  // The inside of MPI: it matches in order, moves the bytes, and ends both.
  void move() {
    MpiState next = now_;
    MpiHalf& from = next.halves[sender];
    MpiHalf& to = next.halves[receiver];
    if (now_.queued != 0) {
      next.queued = 0;
      return go(next);
    }
    if (now_.fetching == 0) {
      if (from.active == 0 || to.active == 0) return;
      next.fetching = 1;
      return go(next);
    }
    next.fetching = 0;
    for (MpiHalf* half : {&from, &to}) {
      if (half->cancelled == 0) half->complete = half->issued;
      half->active = half->cancelled = 0;
    }
    if (now_.halves[receiver].cancelled != 0)
      happened_.insert("bytes come after the receive is given up");
    go(next);
  }

  const Rules rules_;
  std::set<std::string> happened_;
};

}  // namespace penstock::protocol::giving_up
