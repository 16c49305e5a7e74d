// SPDX-License-Identifier: Apache-2.0
// The sender writes, over a network that may deliver in any order: as ofi does.
#pragma once

#include <array>
#include <set>
#include <string>

#include "protocol/giving_up/rules.hpp"
#include "protocol/state_search.hpp"

namespace penstock::protocol::giving_up {

struct NetworkHalf {
  Program program;
  // Sender: the epoch whose start has found the peer there; then see PairEnd::trigger().
  Small checked = 0, beginning = 0, looked = 0, refuses_starts = 0;
  Small stopped = 0;
  Small notice = 0, told = 0;     // the notice, once it is wanted; it has left
  Small closed = 0, parting = 0;  // the peer's, as they have come
  Small rung = 0;                 // receiver: starts that its engine has seen
  Small cts = 0;                  // sender: receives started. Receiver: CTS sent
  Small issued = 0, ended = 0;    // sender: writes
  Small complete = 0;             // epochs, as the wait sees them
};

// What is on its way, as bits by epoch or side.
struct Network {
  Small cts = 0;                  // how many
  Small data = 0;                 // has not reached the receiver's region
  Small landing = 0;              // has found it open, and is being written
  Small reports = 0;              // of writes that have ended, how many
  Small closed = 0, parting = 0;  // a bit for the side that it goes to
};

struct NetworkState {
  std::array<NetworkHalf, 2> halves{};
  Network network;
};

class NetworkModel : public StateSearch<NetworkState> {
 public:
  NetworkModel(const Rules& rules, bool ready) : rules_(rules), ready_(ready) {}
  const std::set<std::string>& happened() const { return happened_; }

 private:
  void step() override {
    check();
    run_sender();
    run_receiver();
    for (const Side side : {sender, receiver}) {
      fail(side);
      calm_down(side);
      send_notice(side);
      get_back(side);
    }
    take_doorbell();
    part_by_itself();
    issue();
    deliver();
  }

  bool may_end() const override { return giving_up::may_end(now_.halves); }

  void check() {
    const Network& network = now_.network;
    if (now_.halves[receiver].program.back != 0 && network.landing != 0)
      fault("a buffer is written that is the program's");
    if (now_.halves[sender].program.back != 0 && (network.data | network.landing) != 0)
      fault("a buffer is read that is the program's");
  }

  bool waits(Side side) const {
    const Program& program = now_.halves[side].program;
    return program.failed == 0 && program.started > program.waited;
  }
  bool refused(Side side) const {
    const NetworkHalf& half = now_.halves[side];
    return closed_before(half.closed, half.program.waited + 1u);
  }

  void run_sender() {
    const NetworkHalf& half = now_.halves[sender];
    const auto next_epoch = static_cast<Small>(half.program.waited + 1);
    if (half.program.failed != 0) return;
    if (waits(sender)) return end_wait(sender);
    if (half.beginning == next_epoch) return begin_start();
    NetworkState next = now_;
    if (half.checked == next_epoch) {
      next.halves[sender].beginning = next_epoch;
      return go(next);
    }
    if (next_epoch > epochs || half.program.calm != 0) return;
    // The program knows of the receive.
    if (ready_ && now_.halves[receiver].program.started < next_epoch) return;
    if (refused(sender)) return fail_now(sender);
    next.halves[sender].checked = next_epoch;
    go(next);
  }
  // PairEnd::trigger() behind its first store.
  void begin_start() {
    const NetworkHalf& half = now_.halves[sender];
    NetworkState next = now_;
    if (half.looked < half.beginning) {
      if (half.refuses_starts != 0 && rules_.starts_see_refusal) {
        happened_.insert("a start is refused by the engine");
        return fail_now(sender);
      }
      next.halves[sender].looked = half.beginning;
      return go(next);
    }
    if (half.stopped != 0) return fault("a start rings after its half has stopped");
    next.halves[sender].program.started = half.beginning;
    go(next);
  }

  void run_receiver() {
    const NetworkHalf& half = now_.halves[receiver];
    if (half.program.failed != 0) return;
    if (waits(receiver)) return end_wait(receiver);
    if (half.program.waited == epochs || half.program.calm != 0) return;
    if (refused(receiver)) return fail_now(receiver);
    NetworkState next = now_;
    ++next.halves[receiver].program.started;
    go(next);
  }

  // A pass of the receiver's engine sees a start.
  void take_doorbell() {
    const NetworkHalf& half = now_.halves[receiver];
    if (half.stopped != 0 || half.rung == half.program.started) return;
    NetworkState next = now_;
    ++next.halves[receiver].rung;
    if (!ready_) ++next.network.cts;
    go(next);
  }
  Epoch offered() const {
    const NetworkHalf& half = now_.halves[receiver];
    return ready_ && !rules_.doorbells_count_as_offers ? half.program.started : half.rung;
  }
  bool all_arrived() const {
    const Epoch come = now_.halves[receiver].complete;
    return come + (rules_.last_message_counts_as_come ? 1u : 0u) >= offered();
  }

  void end_wait(Side side) {
    const NetworkHalf& half = now_.halves[side];
    if (refused(side)) return fail_now(side);
    if (half.complete < half.program.started) return;
    NetworkState next = now_;
    next.halves[side].program.waited = half.program.started;
    go(next);
  }

  // Another pair of the same queue may be the reason. A start in its middle goes to its end first.
  void fail(Side side) {
    if (may_turn(side)) fail_now(side);
  }
  void calm_down(Side side) {
    if (!may_turn(side)) return;
    NetworkState next = now_;
    next.halves[side].program.calm = 1;
    go(next);
  }
  bool may_turn(Side side) const {
    const NetworkHalf& half = now_.halves[side];
    return half.program.failed == 0 && half.program.calm == 0 &&
           half.checked <= half.program.started;
  }
  void fail_now(Side side) {
    NetworkState next = now_;
    NetworkHalf& half = next.halves[side];
    half.program.failed = 1;
    half.stopped = 1;
    tell(half);
    go(next);
  }
  static void tell(NetworkHalf& half) {
    if (half.notice == 0) half.notice = static_cast<Small>(half.program.waited + 1);
  }

  bool in_flight() const { return now_.halves[sender].issued > now_.halves[sender].ended; }

  void send_notice(Side side) {
    const NetworkHalf& half = now_.halves[side];
    const bool writing = side == sender && half.stopped != 0 && in_flight();
    if (half.notice == 0 || half.told != 0 || !rules_.may_part({}, 0, false, writing)) return;
    NetworkState next = now_;
    next.halves[side].told = 1;
    const auto bit = static_cast<Small>(1 << other(side));
    next.network.closed = static_cast<Small>(next.network.closed | bit);
    next.network.parting = static_cast<Small>(next.network.parting | bit);
    go(next);
  }

  void get_back(Side side) {
    const NetworkHalf& half = now_.halves[side];
    if (half.program.failed == 0 || half.program.back != 0) return;
    const bool untouched =
        side == sender ? !rules_.sender_waits_for_its_writes || !in_flight()
                       : rules_.receive_is_untouched(all_arrived(), half.closed, half.parting);
    if (!untouched) return;
    NetworkState next = now_;
    next.halves[side].program.back = 1;
    go(next);
  }

  // The sender's engine, in two steps, as its worker may come in between.
  void part_by_itself() {
    const NetworkHalf& half = now_.halves[sender];
    if (half.closed == 0 || half.notice != 0) return;
    NetworkState next = now_;
    if (half.refuses_starts == 0) {
      next.halves[sender].refuses_starts = 1;
      return go(next);
    }
    if (half.beginning > half.program.started && rules_.refusal_sees_starts) return;
    if (!rules_.parts_by_itself(half.closed, half.program.started, half.complete)) return;
    happened_.insert("an idle sender parts");
    next.halves[sender].notice = static_cast<Small>(half.complete + 1);
    next.halves[sender].stopped = 1;
    go(next);
  }

  void issue() {
    const NetworkHalf& half = now_.halves[sender];
    if (half.stopped != 0 || half.issued == half.program.started) return;
    if (!ready_ && half.cts <= half.issued) return;
    NetworkState next = now_;
    const int epoch = ++next.halves[sender].issued;
    next.network.data = static_cast<Small>(next.network.data | 1 << epoch);
    go(next);
  }

  void deliver() {
    const Network& network = now_.network;
    if (network.cts != 0) {
      NetworkState next = now_;
      --next.network.cts;
      ++next.halves[sender].cts;
      go(next);
    }
    for (int epoch = 1; epoch <= epochs; ++epoch) {
      const auto bit = static_cast<Small>(1 << epoch);
      if ((network.data & bit) != 0) reach_region(bit);
      if ((network.landing & bit) != 0) land(bit);
    }
    if (network.reports != 0) report();
    for (const Side side : {sender, receiver}) deliver_notice(side);
  }
  void reach_region(Small bit) {
    NetworkState next = now_;
    next.network.data = static_cast<Small>(now_.network.data & ~bit);
    if (now_.halves[receiver].stopped != 0) {
      ++next.network.reports;  // it is refused
    } else {
      next.network.landing = static_cast<Small>(now_.network.landing | bit);
    }
    go(next);
  }
  void land(Small bit) {
    if (now_.halves[receiver].stopped != 0)
      happened_.insert("bytes come after the receive is given up");
    NetworkState next = now_;
    next.network.landing = static_cast<Small>(now_.network.landing & ~bit);
    ++next.network.reports;
    ++next.halves[receiver].complete;
    go(next);
  }
  // A half that has been stopped looks no more at what is complete.
  void report() {
    NetworkState next = now_;
    --next.network.reports;
    NetworkHalf& half = next.halves[sender];
    ++half.ended;
    if (half.stopped == 0) half.complete = half.ended;
    go(next);
  }
  void deliver_notice(Side side) {
    const auto bit = static_cast<Small>(1 << side);
    const NetworkHalf& from = now_.halves[other(side)];
    NetworkState next = now_;
    if ((now_.network.closed & bit) != 0) {
      next.network.closed = static_cast<Small>(now_.network.closed & ~bit);
      next.halves[side].closed = from.notice;
      go(next);
    }
    next = now_;
    if ((now_.network.parting & bit) != 0) {
      next.network.parting = static_cast<Small>(now_.network.parting & ~bit);
      next.halves[side].parting = 1;
      go(next);
    }
  }

  const Rules rules_;
  const bool ready_;  // ready sends, which wait for no CTS
  std::set<std::string> happened_;
};

}  // namespace penstock::protocol::giving_up
