// SPDX-License-Identifier: Apache-2.0
// A queue that has failed gives the buffers of its messages back only when nothing reads or writes
// them any more: the decisions of protocol/parting.hpp in every order, where the sender writes over
// a network, and where MPI fetches with its receive.
//
// Both halves run two epochs. Either one's queue may fail at any time, after which its program
// makes no call for the pair; its wait ends when the half has its buffer back. A half may also
// become calm: its program makes no more calls and nothing else of its queue fails. No other half
// may wait for ever for that.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <set>
#include <string>

#include "protocol/epoch.hpp"
#include "protocol/parting.hpp"
#include "protocol/state_search.hpp"

namespace penstock::protocol {
namespace {

using Small = std::uint8_t;
constexpr Small epochs = 2;
enum Side : Small { sender, receiver };
constexpr Side other(Side side) {
  return side == sender ? receiver : sender;
}

// What the shipped code decides; planted defects take other decisions.
struct Rules {
  bool (*may_part)(const Credits&, Epoch, bool, bool) = protocol::may_part;
  bool (*receive_is_untouched)(Epoch, Epoch, std::uint64_t,
                               std::uint64_t) = protocol::receive_is_untouched;
  bool (*parts_by_itself)(Epoch, Epoch, Epoch) = protocol::parts_by_itself;
  bool (*may_part_from_mpi)(bool, bool) = protocol::may_part_from_mpi;
  bool (*send_is_untouched)(bool, bool) = protocol::send_is_untouched;
  bool sender_waits_for_its_writes = true;
  bool starts_see_refusal = true;
  bool refusal_sees_starts = true;
  bool receives_part_by_themselves = true;
  bool peer_closed_stops_receives = true;
  bool receives_answer_twice = true;
  bool any_notice_answers = false;
  bool doorbells_count_as_offers = false;
};

// ---- What both models have of a half

struct Program {
  Small started = 0, waited = 0;
  Small calm = 0;
  Small failed = 0;  // its queue has
  Small back = 0;    // and the wait behind it has ended: the buffer is the program's
};

// ---- The sender writes, over a network that may deliver in any order

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

  bool may_end() const override {
    for (const Side side : {sender, receiver}) {
      const NetworkHalf& half = now_.halves[side];
      if (half.program.failed != 0 && half.program.back == 0) return false;
      // Nobody waits for what will never come.
      if (now_.halves[other(side)].program.failed != 0 && half.program.failed == 0 &&
          half.program.started > half.program.waited)
        return false;
    }
    return true;
  }

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
    const bool untouched = side == sender ? !rules_.sender_waits_for_its_writes || !in_flight()
                                          : rules_.receive_is_untouched(offered(), half.complete,
                                                                        half.closed, half.parting);
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

// ---- MPI fetches with its receive

struct MpiHalf {
  Program program;
  Small issued = 0, complete = 0;
  Small active = 0;            // MPI has its operation of epoch `issued`
  Small cancelled = 0;         // that one is given up: its end counts for nothing
  Small stopped = 0;           // it issues nothing more
  Small notice = 0, told = 0;  // as above
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
      turn(side);
      issue(side);
      send_notice(side);
      hear(side);
      get_back(side);
    }
    move();
  }

  bool may_end() const override {
    for (const Side side : {sender, receiver}) {
      const Program& program = now_.halves[side].program;
      if (program.failed != 0 && program.back == 0) return false;
      if (now_.halves[other(side)].program.failed != 0 && program.failed == 0 &&
          program.started > program.waited)
        return false;
    }
    return true;
  }

  void run(Side side) {
    const MpiHalf& half = now_.halves[side];
    const auto next_epoch = static_cast<Small>(half.program.waited + 1);
    if (half.program.failed != 0) return;
    MpiState next = now_;
    if (half.program.started > half.program.waited) {
      if (closed_before(half.closed, next_epoch)) return fail(side);
      if (half.complete < next_epoch) return;
      ++next.halves[side].program.waited;
      return go(next);
    }
    if (next_epoch > epochs || half.program.calm != 0) return;
    if (closed_before(half.closed, next_epoch)) return fail(side);
    ++next.halves[side].program.started;
    go(next);
  }

  void turn(Side side) {
    if (now_.halves[side].program.failed != 0 || now_.halves[side].program.calm != 0) return;
    fail(side);
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

  void fail(Side side) {
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

  // As ProxyEngine::send_farewell() and answer_end().
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

TEST(GivingUp, OverANetworkTheBufferOfAReadyReceiveIsGivenBackUntouched) {
  NetworkModel model({}, true);
  EXPECT_EQ(model.search(), "");
  std::printf("network, ready: %zu states\n", model.states());
}

TEST(GivingUp, OverANetworkABufferIsGivenBackUntouched) {
  NetworkModel model({}, false);
  EXPECT_EQ(model.search(), "");
  EXPECT_EQ(model.happened(),
            (std::set<std::string>{"a start is refused by the engine", "an idle sender parts",
                                   "bytes come after the receive is given up"}));
  std::printf("network: %zu states\n", model.states());
}

TEST(GivingUp, WithMpiABufferIsGivenBackUntouched) {
  MpiModel model({});
  EXPECT_EQ(model.search(), "");
  EXPECT_EQ(model.happened(),
            (std::set<std::string>{
                "MPI keeps a send that no receive takes", "a receive answers after its notice",
                "a receive parts by itself", "bytes come after the receive is given up"}));
  std::printf("MPI: %zu states\n", model.states());
}

enum class Over : Small { network, network_ready, mpi };

struct Defect {
  const char* name;
  Over over;
  const char* found;
  Rules rules;
};

class GivingUpDefects : public ::testing::TestWithParam<Defect> {};

constexpr auto written = "a buffer is written that is the program's";
constexpr auto read = "a buffer is read that is the program's";

const Defect defects[] = {
    {"NoticeBeforeTheWritesHaveEnded",
     Over::network,
     written,
     {.may_part = [](const Credits&, Epoch, bool, bool) { return true; }}},
    {"ReceiveIsBackAtOnce",
     Over::network,
     written,
     {.receive_is_untouched = [](Epoch, Epoch, std::uint64_t, std::uint64_t) { return true; }}},
    {"ReceiveIsBackBeforeTheLastMessage",
     Over::network,
     written,
     {.receive_is_untouched =
          [](Epoch offered, Epoch arrived, std::uint64_t closed, std::uint64_t parting) {
            return arrived + 1 >= offered || (closed != 0 && parting != 0);
          }}},
    {"ReceiveWaitsForItsMessageAlone",
     Over::network,
     "stuck",
     {.receive_is_untouched = [](Epoch offered, Epoch arrived, std::uint64_t,
                                 std::uint64_t) { return arrived >= offered; }}},
    {"SendIsBackAtOnce", Over::network, read, {.sender_waits_for_its_writes = false}},
    {"AnIdleSenderSaysNothing",
     Over::network,
     "stuck",
     {.parts_by_itself = [](Epoch, Epoch, Epoch) { return false; }}},
    {"ASenderPartsFromAMessageThatIsServed",
     Over::network,
     "stuck",
     {.parts_by_itself = [](Epoch, Epoch, Epoch) { return true; }}},
    {"StartsDoNotSeeTheRefusal",
     Over::network,
     "a start rings after its half has stopped",
     {.starts_see_refusal = false}},
    {"TheRefusalDoesNotSeeStarts",
     Over::network,
     "a start rings after its half has stopped",
     {.refusal_sees_starts = false}},
    {"AStartThatNoPassHasSeenIsNoOffer",
     Over::network_ready,
     written,
     {.doorbells_count_as_offers = true}},
    {"AReceiveAnswersWithItsFirstNoticeAlone",
     Over::mpi,
     "stuck",
     {.receives_answer_twice = false}},
    {"AnyNoticeOfAReceiveCountsAsAnAnswer", Over::mpi, read, {.any_notice_answers = true}},
    {"NoticeOfAReceiveThatMpiHas",
     Over::mpi,
     read,
     {.may_part_from_mpi = [](bool, bool) { return true; }}},
    {"ASendsNoticeWaitsForItsEnd",
     Over::mpi,
     "stuck",
     {.may_part_from_mpi = [](bool, bool active) { return !active; }}},
    {"SendIsBackAtOnceFromMpi",
     Over::mpi,
     read,
     {.send_is_untouched = [](bool, bool) { return true; }}},
    {"SendWaitsForItsEndAlone",
     Over::mpi,
     "stuck",
     {.send_is_untouched = [](bool active, bool) { return !active; }}},
    {"AnIdleReceiveSaysNothing", Over::mpi, "stuck", {.receives_part_by_themselves = false}},
    {"AReceiveIsIssuedAfterItsNotice", Over::mpi, read, {.peer_closed_stops_receives = false}},
};

std::string name_of(const ::testing::TestParamInfo<Defect>& tested) {
  return tested.param.name;
}
INSTANTIATE_TEST_SUITE_P(, GivingUpDefects, ::testing::ValuesIn(defects), name_of);

TEST_P(GivingUpDefects, IsFound) {
  const Defect& defect = GetParam();
  const std::string fault =
      defect.over == Over::mpi
          ? MpiModel(defect.rules).search()
          : NetworkModel(defect.rules, defect.over == Over::network_ready).search();
  EXPECT_NE(fault.find(defect.found), std::string::npos) << "found: " << fault;
}

}  // namespace
}  // namespace penstock::protocol
