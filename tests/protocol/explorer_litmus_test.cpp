// SPDX-License-Identifier: Apache-2.0
// The litmus programs, each explored exhaustively with every kind of pair it applies to. A slow
// kernel or a late host (L5) needs no program of its own: the explorer delays every thread
// anywhere.
#include <algorithm>

#include "protocol/explorer/kinds.hpp"
#include "protocol/explorer/report.hpp"

namespace penstock::explorer {
namespace {

const auto* const print_totals = ::testing::AddGlobalTestEnvironment(new PrintTotals);

std::string repeat(const std::string& calls, unsigned times) {
  return "(" + calls + ")" + std::to_string(times);
}

void expect_ends(const std::string& name, const std::vector<PairSpec>& pairs,
                 const std::vector<std::string>& programs) {
  Scenario scenario{name, pairs, {}};
  for (const std::string& program : programs) scenario.threads.push_back({program});
  expect_holds(scenario, Liveness::programs);
}

class Litmus : public ::testing::TestWithParam<PairSpec> {
 protected:
  const PairSpec kind = GetParam();
  // The other pair of a program: the same kind, and the standard kind of the other path.
  std::vector<std::vector<PairSpec>> two() const {
    const PairSpec other = kind.path == Path::ring ? rendezvous() : ring();
    return {{kind, kind}, {kind, other}, {other, kind}};
  }
  // Often enough for a deferred start to be held up.
  std::string often(const std::string& calls, unsigned times) const {
    return repeat(calls, kind.deferred ? std::max(times, kind.slots + 1) : times);
  }
  void both_ways(const std::string& name, const std::string& a, const std::string& b) const {
    for (const auto& pairs : two()) expect_ends(name, pairs, {a, b});
  }
};

INSTANTIATE_TEST_SUITE_P(, Litmus, ::testing::ValuesIn(all_kinds()),
                         [](const auto& kind) { return test_name(kind.param); });

TEST_P(Litmus, L1_L8) {
  both_ways("L1", often("s1 w1 s2 w2", 3), often("r1 r2 w2 w1", 3));
}

TEST_P(Litmus, L2) {
  both_ways("L2", often("s1 r2 w2 w1", 3), often("r1 w1 s2 w2", 3));
}

TEST_P(Litmus, L3) {
  both_ways("L3", often("s1 r2 w12", 2), often("s2 r1 w12", 2));
}

// The pairs have nothing in common here, so the states multiply: one epoch is enough for the
// largest kind.
void two_queues(const std::vector<std::vector<PairSpec>>& two, unsigned epochs) {
  const auto times = [&](const std::string& calls) { return repeat(calls, epochs); };
  for (const auto& pairs : two) {
    expect_ends("L4 of L1", pairs,
                {times("s1 w1"), times("s2 w2"), times("r1 w1"), times("r2 w2")});
    expect_ends("L4 of L2", pairs,
                {times("s1 w1"), times("r2 w2"), times("r1 w1"), times("s2 w2")});
  }
}

TEST_P(Litmus, L4_TwoQueuesOfEachProcess) {
  two_queues(two(), kind.claim == ClaimBy::flags ? 1 : 2);
}

TEST_P(Litmus, L4_TwoEpochsByFlags) {
  if (kind.claim != ClaimBy::flags) GTEST_SKIP() << "this kind claims by exchange, or not at all";
  if (!long_run()) GTEST_SKIP() << in_the_whole_form;
  two_queues(two(), 2);
}

TEST_P(Litmus, L6_ReceiveStartedButNotWaitedFor) {
  const unsigned slots = kind.slots;
  for (const auto& pairs : two())
    expect_ends("L6", pairs,
                {repeat(repeat("s1 w1", slots + 1) + "s2 w2", 2),
                 repeat(repeat("r1 w1", slots) + "r1 r2 w2 w1", 2)});
}

TEST_P(Litmus, L7_SenderWaitsElsewhere) {
  const unsigned slots = kind.slots;
  for (const auto& pairs : two())
    expect_ends("L7", pairs,
                {repeat(repeat("s1 w1", slots) + "s1 r2 w2 w1", 2),
                 repeat(repeat("r1 w1", slots + 1) + "s2 w2", 2)});
}

TEST_P(Litmus, L10_ClaimsAreActedOn) {
  both_ways("L10", often("s1 s2 w12", 2), often("r1 w1 r2 w2", 2));
  both_ways("L10, both waitall", often("s1 s2 w12", 2), often("r2 r1 w12", 2));
  both_ways("L10, opposite directions", often("s1 r2 w12", 2), often("r1 w1 s2 w2", 2));
}

TEST_P(Litmus, L11_AWaitEndsAlone) {
  expect_ends("L11", {kind}, {"(s1 w1)2 s1 w1", "(r1 w1)2 r1"});
  expect_ends("L11, mirrored", {kind}, {"(s1 w1)2 s1", "(r1 w1)2 r1 w1"});
  expect_ends("L11, receiver's wait much later", {kind}, {"(s1 w1 e1)2", "(r1 a1 w1)2"});
  expect_ends("L11, sender's wait much later", {kind}, {"(s1 a1 w1)2", "(r1 w1 e1)2"});
}

TEST_P(Litmus, L12_RunAhead) {
  expect_ends("L12", {kind}, {repeat("s1 w1", kind.slots + 3), repeat("r1 w1", kind.slots + 3)});
}

// All but one of the slots may be filled before any receive is started. Of a deferred ring the last
// one, too, and its wait ends: the next start is held up instead, unless the send has a wait.
TEST_P(Litmus, L12_RunAheadOfTheReceive) {
  if (kind.path == Path::rendezvous || kind.mode != Mode::standard)
    GTEST_SKIP() << "such sends wait for the receive";
  expect_ends("L12, no receive", {kind},
              {repeat("s1 w1", kind.slots - 1) + "e1 s1 w1", "a1 " + repeat("r1 w1", kind.slots)});
  if (kind.deferred && !kind.send_waits)
    expect_ends(
        "L12, no receive", {kind},
        {repeat("s1 w1", kind.slots) + "e1 s1 w1", "a1 " + repeat("r1 w1", kind.slots + 1)});
}

TEST_P(Litmus, L13_EpochsOnTwoQueues) {
  expect_ends("L13", {kind},
              {"s1 w1 e1 a2 s1 w1", "a1 s1 w1 e2", "r1 w1 e3 a4 r1 w1", "a3 r1 w1 e4"});
}

TEST_P(Litmus, L13_WithoutTheEventIsFound) {
  const Scenario scenario{"L13 without an event", {kind}, {{"s1 w1"}, {"s1 w1"}, {"(r1 w1)2"}}};
  const Result result = explore(scenario, Liveness::programs);
  EXPECT_NE(result.failure.find("data race"), std::string::npos) << result.failure;
}

// Four times the range of a flag, with every mixture of push at start, push at wait and pull.
TEST_P(Litmus, L14_WrapAround) {
  const unsigned epochs = 4u << kind.flag_bits;
  expect_ends("L14", {kind}, {repeat("s1 w1", epochs), repeat("r1 w1", epochs)});
}

TEST_P(Litmus, L18_BlockIsReusedWhenBothHaveSaidSo) {
  expect_ends("L18", {kind}, {"(s1 w1)3 e1 a2 z1 e3 (s1 w1)2", "(r1 w1)3 e2 a3 n1 (r1 w1)2"});
}

TEST_P(Litmus, L18_EarlyReuseIsFound) {
  if (kind.mode != Mode::standard) GTEST_SKIP() << "told of standard sends";
  const Scenario scenario{
      "L18, reused too early", {kind}, {{"(s1 w1)2 z1 e3 s1 w1"}, {"(r1 w1)2 a3 n1 r1 w1"}}};
  EXPECT_FALSE(explore(scenario, Liveness::programs).ok());
}

TEST_P(Litmus, L19_ToItself) {
  expect_ends("L19", {kind}, {often("s1 r1 ws1 wr1", 3)});
  expect_ends("L19, receive first", {kind}, {often("r1 s1 wr1 ws1", 3)});
  expect_ends("L19, waitall", {kind}, {often("r1 s1 ws1r1", 3)});
  expect_ends("L19, two streams", {kind}, {often("r1 w1", 3), often("s1 w1", 3)});
}

TEST_P(Litmus, L20_RingOfThree) {
  if (kind.slots * kind.lines > 4) GTEST_SKIP() << "three such pairs outgrow the model's memory";
  const bool flags = kind.path == Path::rendezvous && kind.claim == ClaimBy::flags;
  const std::string times = flags ? "1" : "2";
  expect_ends("L20", {kind, kind, kind},
              {"(s1 r3 w3 w1)" + times, "(r1 w1 s2 w2)" + times, "(s3 r2 w2 w3)" + times});
}

// Ready sends: a message is the proof that the receive has been started.
TEST(LitmusReady, L9_TokenProvesTheReceive) {
  for (const PairSpec& token : all_kinds()) {
    for (bool checked : {false, true}) {
      for (PairSpec ready :
           {ring(Mode::ready), ring(Mode::ready, 3, 2), deferred_ring(Mode::ready, 3),
            rendezvous(ClaimBy::exchange, Mode::ready)}) {
        ready.checks_ready = checked;
        const unsigned epochs = ready.deferred ? 5 : 3;
        expect_ends("L9", {token, ready},
                    {repeat("r1 w1 s2 w2", epochs), repeat("r2 s1 w1 w2", epochs)});
      }
    }
  }
}

TEST(LitmusReady, L9_DoubleBufferedHaloWithoutToken) {
  for (bool checked : {false, true}) {
    for (PairSpec ready : {ring(Mode::ready), deferred_ring(Mode::ready, 3),
                           rendezvous(ClaimBy::exchange, Mode::ready)}) {
      ready.checks_ready = checked;
      expect_ends("L9, halo", {ready, ready, ready, ready},
                  {"r2 e1 a2 r4 s1 w2 w1 r2 s3 w4 w3 r4 s1 w2 w1 s3 w4 w3",
                   "r1 e2 a1 r3 s2 w1 w2 r1 s4 w3 w4 r3 s2 w1 w2 s4 w3 w4"});
    }
  }
}

TEST(LitmusReady, L9_ABrokenPromiseIsFound) {
  PairSpec ready = rendezvous(ClaimBy::exchange, Mode::ready);
  const Scenario scenario{"broken promise", {ready}, {{"s1 w1"}, {"r1 w1"}}};
  EXPECT_FALSE(explore(scenario, Liveness::programs).ok());
  ready.checks_ready = true;
  const Scenario checked{"broken promise, checked", {ready}, {{"s1 w1"}, {"r1 w1"}}};
  EXPECT_NE(explore(checked, Liveness::programs).failure.find("called broken"), std::string::npos);
}

// The side that waits copies a part of the other's message.
TEST(LitmusShared, BothMoveOneMessage) {
  for (ClaimBy claim : {ClaimBy::exchange, ClaimBy::flags}) {
    const PairSpec kind = shared_rendezvous(claim);
    expect_ends("shared", {kind}, {"(s1 w1)3", "(r1 w1)3"});
    expect_ends("shared, L1", {kind, kind}, {"(s1 w1 s2 w2)2", "(r1 r2 w2 w1)2"});
    expect_ends("shared, L2", {kind, kind}, {"(s1 r2 w2 w1)2", "(r1 w1 s2 w2)2"});
    expect_ends("shared, L3", {kind, ring()}, {"(s1 r2 w12)2", "(s2 r1 w12)2"});
    expect_ends("shared, L11", {kind}, {"s1 w1 s1 w1", "r1 w1 r1"});
    expect_ends("shared, L11 mirrored", {kind}, {"s1 w1 s1", "r1 w1 r1 w1"});
    expect_ends("shared, L13", {kind},
                {"s1 w1 e1 a2 s1 w1", "a1 s1 w1 e2", "r1 w1 e3 a4 r1 w1", "a3 r1 w1 e4"});
    expect_ends("shared, L19", {kind}, {"(s1 r1 ws1 wr1)3"});
    expect_ends("shared, L9", {ring(), shared_rendezvous(claim, Mode::ready)},
                {"(r1 w1 s2 w2)3", "(r2 s1 w1 w2)3"});
  }
}

// Receive e has been started, and is waited for only after a message that the sender sends behind
// its start of e + 1.
TEST(LitmusDeferred, AStartIsHeldUpNoLongerThanTheWaitBeforeIt) {
  for (Mode mode : {Mode::standard, Mode::synchronous})
    for (unsigned slots : {3u, 4u})
      for (const PairSpec& other : {ring(), rendezvous(), deferred_ring(mode, slots)})
        expect_ends("held up", {deferred_ring(mode, slots), other},
                    {repeat("s1 w1", slots - 1) + "(s1 s2 w2 w1)2",
                     repeat("r1 w1", slots - 2) + "(r1 r2 w2 w1)2 r1 w1"});
}

TEST(LitmusBuffered, CompletesLocallyAndReusesItsBuffers) {
  for (unsigned slots : {2u, 3u}) {
    for (unsigned lines : {1u, 2u}) {
      const PairSpec kind = ring(Mode::buffered, slots, lines);
      const std::string fill = repeat("s1 w1", slots);
      expect_ends("buffered", {kind},
                  {fill + "e1 (a2 s1 w1)2", "a1 (r1 w1 e2)2" + repeat("r1 w1", slots)});
      const Scenario overfull{"one too many", {kind}, {{fill + "s1 w1"}, {"r1 w1"}}};
      EXPECT_NE(explore(overfull, Liveness::lemma).failure.find("found no buffer"),
                std::string::npos);
    }
  }
}

}  // namespace
}  // namespace penstock::explorer
