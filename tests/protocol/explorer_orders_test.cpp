// SPDX-License-Identifier: Apache-2.0
// Every legal order of calls. In the first form both sides choose their next call freely (any start
// or wait that is legal, waits for one or for several), so that one search holds all programs;
// every wait must then end as soon as the peer has started its epoch. In the second form each pair
// of programs is a search of its own, and every one that MPI's rule lets end must end.
#include "protocol/explorer/kinds.hpp"
#include "protocol/explorer/report.hpp"
#include "protocol/ring.hpp"

namespace penstock::explorer {
namespace {

const auto* const print_totals = ::testing::AddGlobalTestEnvironment(new PrintTotals);

constexpr unsigned send1 = 0, receive1 = 1, send2 = 2, receive2 = 3, send3 = 4, receive3 = 5;

Scenario in_any_order(const std::string& name, const std::vector<PairSpec>& pairs,
                      const std::vector<unsigned>& a, const std::vector<unsigned>& b,
                      const std::vector<unsigned>& epochs) {
  Scenario scenario{name, pairs, {{"", a}, {"", b}}, epochs};
  scenario.buffer_may_fill = pairs[0].mode == Mode::buffered;
  return scenario;
}

void any_order(const std::string& name, const std::vector<PairSpec>& pairs,
               const std::vector<unsigned>& a, const std::vector<unsigned>& b, unsigned epochs) {
  expect_holds(in_any_order(name, pairs, a, b, std::vector(pairs.size(), epochs)), Liveness::lemma);
}

class AnyOrder : public ::testing::TestWithParam<PairSpec> {
 protected:
  const PairSpec kind = GetParam();
  const PairSpec other = kind.path == Path::ring ? rendezvous() : ring();
  const bool small = kind.path == Path::ring;
  // A claim by flags has four times the states.
  const unsigned two = small || kind.claim == ClaimBy::exchange || long_run() ? 2 : 1;
};

// Deferred rings have tests of their own: two or three epochs hold up none of their starts.
std::vector<PairSpec> kinds_and_buffered() {
  std::vector<PairSpec> kinds = all_kinds();
  std::erase_if(kinds, [](const PairSpec& kind) { return kind.deferred; });
  kinds.push_back(ring(Mode::buffered, 2, 1));
  kinds.push_back(ring(Mode::buffered, 3, 2));
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(, AnyOrder, ::testing::ValuesIn(kinds_and_buffered()),
                         [](const auto& kind) { return test_name(kind.param); });

TEST_P(AnyOrder, OnePair) {
  any_order("one pair", {kind}, {send1}, {receive1}, 10);
}

TEST_P(AnyOrder, OnePairTwentyEpochs) {
  if (!long_run()) GTEST_SKIP() << in_the_whole_form;
  any_order("one pair", {kind}, {send1}, {receive1}, 20);
}

TEST_P(AnyOrder, TwoPairsOneWay) {
  any_order("two pairs one way", {kind, kind}, {send1, send2}, {receive1, receive2}, two);
}

TEST_P(AnyOrder, TwoPairsBothWays) {
  any_order("two pairs both ways", {kind, kind}, {send1, receive2}, {receive1, send2}, two);
}

TEST_P(AnyOrder, SmallBesideLarge) {
  const bool told_apart = kind.lines == 1 && (kind.slots == 2 || kind.mode == Mode::standard);
  if (!told_apart && !long_run()) GTEST_SKIP() << in_the_whole_form;
  any_order("small beside large, one way", {kind, other}, {send1, send2}, {receive1, receive2}, 2);
  any_order("small beside large, both ways", {kind, other}, {send1, receive2}, {receive1, send2},
            2);
}

TEST_P(AnyOrder, TwoPairsThreeEpochs) {
  if (kind.claim == ClaimBy::flags) GTEST_SKIP() << "ten minutes of one core were not enough";
  if ((!small || kind.lines > 1) && !long_run()) GTEST_SKIP() << in_the_whole_form;
  any_order("two pairs one way", {kind, kind}, {send1, send2}, {receive1, receive2}, 3);
  any_order("two pairs both ways", {kind, kind}, {send1, receive2}, {receive1, send2}, 3);
}

TEST_P(AnyOrder, ThreePairsOneEpoch) {
  if (kind.slots * kind.lines > 4) GTEST_SKIP() << "three such pairs outgrow the model's memory";
  if ((!small || kind.lines > 1) && !long_run()) GTEST_SKIP() << in_the_whole_form;
  any_order("three pairs", {kind, kind, kind}, {send1, send2, receive3},
            {receive1, receive2, send3}, 1);
}

void shared_two_pairs(const PairSpec& kind) {
  any_order("two pairs one way", {kind, kind}, {send1, send2}, {receive1, receive2}, 1);
  any_order("two pairs both ways", {kind, kind}, {send1, receive2}, {receive1, send2}, 1);
}

TEST(AnyOrderShared, OneAndTwoPairs) {
  any_order("one pair", {shared_rendezvous()}, {send1}, {receive1}, 5);
  any_order("one pair", {shared_rendezvous(ClaimBy::flags)}, {send1}, {receive1}, 3);
  shared_two_pairs(shared_rendezvous());
}

TEST(AnyOrderShared, ByFlags) {
  if (!long_run()) GTEST_SKIP() << in_the_whole_form;
  any_order("one pair", {shared_rendezvous(ClaimBy::flags)}, {send1}, {receive1}, 5);
  shared_two_pairs(shared_rendezvous(ClaimBy::flags));
}

// A sender is held up by a ring of n slots at its epoch n + 1 at the earliest. With one slot less
// than the least there is an order of calls in which it is held up too long.
class LeastSlots : public ::testing::TestWithParam<bool> {
 protected:
  const bool deferred = GetParam();
  const unsigned least = protocol::ring::least_slots(deferred);
  Scenario with(unsigned slots, bool both_ways) const {
    PairSpec kind = ring(Mode::standard, slots);
    kind.deferred = deferred;
    const auto name = both_ways ? "both ways" : "one way";
    return in_any_order(name, {kind, ring()}, {send1, both_ways ? receive2 : send2},
                        {receive1, both_ways ? send2 : receive2}, {slots + 2, 1});
  }
};

INSTANTIATE_TEST_SUITE_P(, LeastSlots, ::testing::Bool(), [](const auto& deferred) {
  return deferred.param ? "Deferred" : "Prompt";
});

TEST_P(LeastSlots, Suffice) {
  for (bool both_ways : {false, true}) expect_holds(with(least, both_ways), Liveness::lemma);
}

void deferred_one_pair(unsigned epochs) {
  for (Mode mode : {Mode::standard, Mode::synchronous})
    for (unsigned slots : {3u, 4u})
      for (unsigned lines : {1u, 2u})
        any_order("one pair", {deferred_ring(mode, slots, lines)}, {send1}, {receive1}, epochs);
}

TEST(AnyOrderDeferred, OnePair) {
  deferred_one_pair(10);
}

TEST(AnyOrderDeferred, OnePairTwentyEpochs) {
  if (!long_run()) GTEST_SKIP() << in_the_whole_form;
  deferred_one_pair(20);
}

// Long enough for a start to be held up, beside one message of another pair.
TEST(AnyOrderDeferred, BesideAnother) {
  for (unsigned slots : {3u, 4u}) {
    for (const PairSpec& other : {rendezvous(), deferred_ring(Mode::synchronous, 3)}) {
      const std::vector<PairSpec> pairs{deferred_ring(Mode::standard, slots), other};
      expect_holds(
          in_any_order("one way", pairs, {send1, send2}, {receive1, receive2}, {slots + 2, 1}),
          Liveness::lemma);
      expect_holds(
          in_any_order("both ways", pairs, {send1, receive2}, {receive1, send2}, {slots + 2, 1}),
          Liveness::lemma);
    }
  }
}

TEST_P(LeastSlots, OneLessDoesNot) {
  for (bool both_ways : {false, true}) {
    const Result result = explore(with(least - 1, both_ways), Liveness::lemma);
    EXPECT_NE(result.failure.find("(G4)"), std::string::npos) << result.failure;
  }
}

// All pairs of programs in which each side starts and waits for two requests, each `epochs` times,
// one wait at a time.
void fixed_orders(const PairSpec& first, const PairSpec& second, bool both_ways,
                  std::array<unsigned, 2> epochs) {
  const auto a_side = all_orders('s', both_ways ? 'r' : 's', epochs);
  const auto b_side = all_orders('r', both_ways ? 's' : 'r', epochs);
  std::size_t explored = 0;
  for (const std::string& a : a_side) {
    for (const std::string& b : b_side) {
      if (!completes_by_rule({parse_program(a), parse_program(b)})) continue;
      expect_holds({"fixed order", {first, second}, {{a}, {b}}}, Liveness::programs);
      ++explored;
      if (::testing::Test::HasFailure()) return;
    }
  }
  std::cout << explored << " of " << a_side.size() * b_side.size()
            << " pairs of programs end by MPI's rule\n";
}

TEST(FixedOrders, SmallOneWay) {
  fixed_orders(ring(), ring(), false, {2, 2});
}
TEST(FixedOrders, SmallBothWays) {
  fixed_orders(ring(), ring(), true, {2, 2});
}
TEST(FixedOrders, SmallSynchronousOneWay) {
  fixed_orders(ring(Mode::synchronous), ring(Mode::synchronous), false, {2, 2});
}
TEST(FixedOrders, SmallSynchronousBothWays) {
  fixed_orders(ring(Mode::synchronous), ring(Mode::synchronous), true, {2, 2});
}
// Four epochs, so that a start is held up.
TEST(FixedOrders, SmallDeferredOneWay) {
  fixed_orders(deferred_ring(Mode::standard, 3), ring(), false, {4, 1});
}
TEST(FixedOrders, SmallDeferredBothWays) {
  fixed_orders(deferred_ring(Mode::standard, 3), ring(), true, {4, 1});
}
TEST(FixedOrders, LargeOneWay) {
  fixed_orders(rendezvous(), rendezvous(), false, {1, 1});
}
TEST(FixedOrders, LargeBothWays) {
  fixed_orders(rendezvous(), rendezvous(), true, {1, 1});
}
TEST(FixedOrders, LargeByFlags) {
  for (bool both_ways : {false, true})
    fixed_orders(rendezvous(ClaimBy::flags), rendezvous(ClaimBy::flags), both_ways, {1, 1});
}
TEST(FixedOrders, SmallBesideLarge) {
  for (bool both_ways : {false, true}) fixed_orders(ring(), rendezvous(), both_ways, {1, 1});
}
TEST(FixedOrders, LargeTwoEpochs) {
  if (!long_run()) GTEST_SKIP() << in_the_whole_form;
  for (bool both_ways : {false, true}) fixed_orders(rendezvous(), rendezvous(), both_ways, {2, 2});
}
TEST(FixedOrders, LargeByFlagsTwoEpochs) {
  if (!long_run()) GTEST_SKIP() << in_the_whole_form;
  for (bool both_ways : {false, true})
    fixed_orders(rendezvous(ClaimBy::flags), rendezvous(ClaimBy::flags), both_ways, {2, 2});
}
TEST(FixedOrders, SmallBesideLargeTwoEpochs) {
  if (!long_run()) GTEST_SKIP() << in_the_whole_form;
  for (bool both_ways : {false, true}) fixed_orders(ring(), rendezvous(), both_ways, {2, 2});
}

}  // namespace
}  // namespace penstock::explorer
