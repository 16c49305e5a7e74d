// SPDX-License-Identifier: Apache-2.0
// A window's pair over MPI, whose ends both send and receive: in each epoch a put and a get go
// apart (proxy/window_end.hpp). The origin stands where a sender does.
#pragma once

#include <array>
#include <set>
#include <string>

#include "protocol/giving_up/rules.hpp"
#include "protocol/state_search.hpp"

namespace penstock::protocol::giving_up {

struct WindowHalf {
  Program program;
  Small issued = 0, complete = 0;
  Small begun = 0;  // epoch whose messages MPI has been given
  Small sending = 0, receiving = 0;
  Small cancelled = 0;         // those are given up: their end counts for nothing
  Small stopped = 0;           // it issues nothing more
  Small notice = 0, told = 0;  // as in MpiHalf
  Small on_its_way = 0, its_asks = 0, its_answers = 0, second = 0;
  Small closed = 0, asked = 0, answered = 0;
};

struct WindowState {
  std::array<WindowHalf, 2> halves{};
  // By the side that sends: MPI moves the bytes; or has put the send off, and what follows waits.
  std::array<Small, 2> fetching{}, queued{};
};

class WindowModel : public StateSearch<WindowState> {
 public:
  explicit WindowModel(const Rules& rules) : rules_(rules) {}
  const std::set<std::string>& happened() const { return happened_; }

 private:
  void step() override {
    for (const Side from : {sender, receiver}) {
      const bool moves = now_.fetching[from] != 0;
      if ((moves || now_.queued[from] != 0) && now_.halves[from].program.back != 0)
        fault("a buffer is read that is the program's");
      if (moves && now_.halves[other(from)].program.back != 0)
        fault("a buffer is written that is the program's");
    }
    for (const Side side : {sender, receiver}) {
      run(side);
      fail_or_calm_down(side);
      issue(side);
      begin(side);
      part(side);
      send_notice(side);
      hear(side);
      get_back(side);
      move(side);
    }
  }

  // As for messages; but a target may have posted and never wait.
  bool may_end() const override {
    auto halves = now_.halves;
    Program& target = halves[receiver].program;
    if (target.calm != 0) target.started = target.waited;
    return giving_up::may_end(halves);
  }

  void run(Side side) {
    const WindowHalf& half = now_.halves[side];
    const auto epoch = static_cast<Small>(half.program.waited + 1);
    if (half.program.failed != 0) return;
    const bool waits = half.program.started > half.program.waited;
    const bool calm = half.program.calm != 0 && (side == receiver || !waits);
    if (calm || (!waits && epoch > epochs)) return;
    if (closed_before(half.closed, epoch)) return fail_now(side);
    if (waits && half.complete < epoch) return;
    WindowState next = now_;
    ++(waits ? next.halves[side].program.waited : next.halves[side].program.started);
    go(next);
  }

  void fail_or_calm_down(Side side) {
    if (now_.halves[side].program.failed != 0 || now_.halves[side].program.calm != 0) return;
    fail_now(side);
    WindowState next = now_;
    next.halves[side].program.calm = 1;
    go(next);
  }

  // A target posts, an origin takes its list.
  void issue(Side side) {
    const WindowHalf& half = now_.halves[side];
    if (half.stopped != 0 || half.issued == half.program.started) return;
    if (closed_before(half.closed, half.issued + 1u)) return;
    WindowState next = now_;
    ++next.halves[side].issued;
    go(next);
  }

  // The origin when it has been posted, the target when the page is here.
  void begin(Side side) {
    const WindowHalf& half = now_.halves[side];
    if (half.begun == half.issued || half.stopped != 0) return;
    if (closed_before(half.closed, half.issued)) return;
    const WindowHalf& peer = now_.halves[other(side)];
    if ((side == sender ? peer.issued : peer.begun) < half.issued) return;
    WindowState next = now_;
    WindowHalf& ours = next.halves[side];
    ours.begun = ours.issued;
    ours.sending = ours.receiving = 1;
    go(next);
    next.queued[side] = 1;
    go(next);
  }

  void fail_now(Side side) {
    WindowState next = now_;
    WindowHalf& half = next.halves[side];
    half.program.failed = 1;
    half.stopped = 1;
    if (half.notice == 0) half.notice = static_cast<Small>(half.program.waited + 1);
    give_up(next, side);
    go(next);
  }

  void give_up(WindowState& state, Side side) {
    WindowHalf& half = state.halves[side];
    if (half.sending == 0 && half.receiving == 0) return;
    half.cancelled = 1;
    if (state.fetching[other(side)] == 0) half.receiving = 0;
  }

  void part(Side side) {
    const WindowHalf& half = now_.halves[side];
    if (half.notice != 0 || !rules_.window_parts_by_itself(half.closed, half.complete)) return;
    happened_.insert("an end parts by itself");
    WindowState next = now_;
    next.halves[side].notice = half.closed;
    go(next);
  }

  void send_notice(Side side) {
    const WindowHalf& half = now_.halves[side];
    const bool receiving = half.receiving != 0, active = receiving || half.sending != 0;
    if (half.notice == 0 || !rules_.may_part_from_mpi(!receiving, active)) return;
    WindowState next = now_;
    WindowHalf& to = next.halves[other(side)];
    const bool answers = half.closed != 0;
    if (half.told == 0) {
      to.on_its_way = half.notice;
      to.its_asks = half.sending;
      to.its_answers = answers;
      next.halves[side].told = answers ? 2 : 1;
      return go(next);
    }
    if (half.told == 2 || !answers || half.asked == 0 || !rules_.receives_answer_twice) return;
    happened_.insert("an end answers after its notice");
    to.second = 1;
    next.halves[side].told = 2;
    go(next);
  }

  void hear(Side side) {
    if (now_.queued[other(side)] != 0) return;  // it stands behind the message
    WindowState next = now_;
    WindowHalf& half = next.halves[side];
    if (half.on_its_way == 0) {
      if (half.second == 0) return;
      half.second = 0;
      half.answered = 1;
      return go(next);
    }
    half.closed = half.on_its_way;
    half.asked = half.its_asks;
    half.answered = half.its_answers;
    half.on_its_way = half.its_asks = half.its_answers = 0;
    if (half.issued >= half.closed) give_up(next, side);
    go(next);
  }

  void get_back(Side side) {
    const WindowHalf& half = now_.halves[side];
    if (half.program.failed == 0 || half.program.back != 0 || half.receiving != 0) return;
    const bool answered = half.answered != 0 || (rules_.any_notice_answers && half.closed != 0);
    if (!rules_.send_is_untouched(half.sending != 0, answered)) return;
    if (half.sending != 0) happened_.insert("MPI keeps a send that no receive takes");
    WindowState next = now_;
    next.halves[side].program.back = 1;
    go(next);
  }

  // The inside of MPI, in one direction.
  void move(Side from) {
    WindowState next = now_;
    WindowHalf& source = next.halves[from];
    WindowHalf& place = next.halves[other(from)];
    if (now_.queued[from] != 0) {
      next.queued[from] = 0;
      return go(next);
    }
    if (now_.fetching[from] == 0) {
      if (source.sending == 0 || place.receiving == 0) return;
      next.fetching[from] = 1;
      return go(next);
    }
    if (place.cancelled != 0) happened_.insert("bytes come after the receive is given up");
    next.fetching[from] = 0;
    source.sending = place.receiving = 0;
    for (WindowHalf* half : {&source, &place})
      if (half->sending == 0 && half->receiving == 0 && half->cancelled == 0)
        half->complete = half->begun;
    go(next);
  }

  const Rules rules_;
  std::set<std::string> happened_;
};

}  // namespace penstock::protocol::giving_up
