// SPDX-License-Identifier: Apache-2.0
// A queue that has failed gives the buffers of its messages back only when nothing reads or writes
// them any more: the decisions of protocol/giving_up.hpp in every order, where the sender writes
// over a network, where MPI fetches with its receive, and in windows over MPI, both ways at once.
//
// Both halves run two epochs. Either one's queue may fail at any time, after which its program
// makes no call for the pair; its wait ends when the half has its buffer back. A half may also
// become calm: its program makes no more calls and nothing else of its queue fails. No other half
// may wait for ever for that.
#include <gtest/gtest.h>

#include <cstdio>
#include <set>
#include <string>

#include "protocol/giving_up/mpi_model.hpp"
#include "protocol/giving_up/network_model.hpp"
#include "protocol/giving_up/window_model.hpp"

namespace penstock::protocol::giving_up {
namespace {

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

TEST(GivingUp, InAWindowOverMpiMemoryIsGivenBackUntouched) {
  WindowModel model({});
  EXPECT_EQ(model.search(), "");
  EXPECT_EQ(model.happened(),
            (std::set<std::string>{"MPI keeps a send that no receive takes",
                                   "an end answers after its notice", "an end parts by itself",
                                   "bytes come after the receive is given up"}));
  std::printf("windows over MPI: %zu states\n", model.states());
}

enum class Over { network, network_ready, mpi, window };

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
     {.receive_is_untouched = [](bool, std::uint64_t, std::uint64_t) { return true; }}},
    {"ReceiveIsBackBeforeTheLastMessage",
     Over::network,
     written,
     {.last_message_counts_as_come = true}},
    {"ReceiveWaitsForItsMessageAlone",
     Over::network,
     "stuck",
     {.receive_is_untouched = [](bool all_arrived, std::uint64_t,
                                 std::uint64_t) { return all_arrived; }}},
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
    {"NoticeOfAnEndThatReceives",
     Over::window,
     read,
     {.may_part_from_mpi = [](bool, bool) { return true; }}},
    {"NoticeOfAnEndWaitsForItsSends",
     Over::window,
     "stuck",
     {.may_part_from_mpi = [](bool, bool active) { return !active; }}},
    {"AnEndIsBackAtOnce",
     Over::window,
     read,
     {.send_is_untouched = [](bool, bool) { return true; }}},
    {"AnEndWaitsForItsSendsAlone",
     Over::window,
     "stuck",
     {.send_is_untouched = [](bool active, bool) { return !active; }}},
    {"AnIdleEndSaysNothing",
     Over::window,
     "stuck",
     {.window_parts_by_itself = [](Epoch, Epoch) { return false; }}},
    {"AnyNoticeOfAnEndCountsAsAnAnswer", Over::window, read, {.any_notice_answers = true}},
    {"AnEndAnswersWithItsFirstNoticeAlone",
     Over::window,
     "stuck",
     {.receives_answer_twice = false}},
};

std::string name_of(const ::testing::TestParamInfo<Defect>& tested) {
  return tested.param.name;
}
INSTANTIATE_TEST_SUITE_P(, GivingUpDefects, ::testing::ValuesIn(defects), name_of);

TEST_P(GivingUpDefects, IsFound) {
  const Defect& defect = GetParam();
  const std::string fault =
      defect.over == Over::window ? WindowModel(defect.rules).search()
      : defect.over == Over::mpi
          ? MpiModel(defect.rules).search()
          : NetworkModel(defect.rules, defect.over == Over::network_ready).search();
  EXPECT_NE(fault.find(defect.found), std::string::npos) << "found: " << fault;
}

}  // namespace
}  // namespace penstock::protocol::giving_up
