// SPDX-License-Identifier: Apache-2.0
// The end of a pair that the other side did not agree on: a side is released from its wait (L21),
// or frees its half. Its user takes the buffers back at once, also while the other side is inside
// its copy.
#include "protocol/explorer/kinds.hpp"
#include "protocol/explorer/report.hpp"

namespace penstock::explorer {
namespace {

const auto* const print_totals = ::testing::AddGlobalTestEnvironment(new PrintTotals);

void expect_truth(const std::string& name, const std::vector<PairSpec>& pairs,
                  const std::vector<std::string>& programs, unsigned releases) {
  Scenario scenario{name, pairs, {}};
  for (const std::string& program : programs) scenario.threads.push_back({program});
  scenario.releases = releases;
  expect_holds(scenario, Liveness::programs);
}

std::vector<PairSpec> closing_kinds() {
  return {closing(ring()),
          closing(ring(Mode::standard, 3)),
          closing(ring(Mode::standard, 2, 2)),
          closing(ring(Mode::synchronous)),
          closing(ring(Mode::synchronous, 3)),
          closing(deferred_ring(Mode::standard, 3)),
          closing(deferred_ring(Mode::standard, 4)),
          closing(deferred_ring(Mode::synchronous, 3)),
          closing(rendezvous()),
          closing(rendezvous(ClaimBy::flags)),
          on_hosts(rendezvous())};
}

class Closing : public ::testing::TestWithParam<PairSpec> {
 protected:
  const PairSpec kind = GetParam();
  // One epoch with two releases, two epochs with one; and beside a pair of the other path.
  void in_two_pairs(const std::string& name, const std::string& a, const std::string& b) const {
    expect_truth(name, {kind, kind}, {a, b}, 2);
    for (const PairSpec& second : seconds())
      if (second.claim == ClaimBy::exchange)
        expect_truth(name, {kind, second}, {twice(a), twice(b)}, 1);
  }
  // Two pairs that claim by flags, which have as many states as all the others together.
  void by_flags(const std::string& name, const std::string& a, const std::string& b) const {
    for (const PairSpec& second : seconds())
      if (second.claim == ClaimBy::flags)
        expect_truth(name, {kind, second}, {twice(a), twice(b)}, 1);
  }
  std::vector<PairSpec> seconds() const {
    return {kind, closing(kind.path == Path::ring ? rendezvous() : ring())};
  }
  static std::string twice(const std::string& calls) { return "(" + calls + ")2"; }
};

INSTANTIATE_TEST_SUITE_P(, Closing, ::testing::ValuesIn(closing_kinds()),
                         [](const auto& kind) { return test_name(kind.param); });

TEST_P(Closing, L21_OnePair) {
  for (unsigned releases : {1u, 2u})
    expect_truth("L21", {kind}, {"(s1 w1)4", "(r1 w1)4"}, releases);
}

TEST_P(Closing, L21_OfL1) {
  in_two_pairs("L21 of L1", "s1 w1 s2 w2", "r1 r2 w2 w1");
}
TEST_P(Closing, L21_OfL2) {
  in_two_pairs("L21 of L2", "s1 r2 w2 w1", "r1 w1 s2 w2");
}
TEST_P(Closing, L21_OfL3) {
  in_two_pairs("L21 of L3", "s1 r2 w12", "s2 r1 w12");
}

TEST_P(Closing, L21_ByFlags) {
  if (kind.claim != ClaimBy::flags) GTEST_SKIP() << "this kind claims by exchange, or not at all";
  if (!long_run()) GTEST_SKIP() << in_the_whole_form;
  by_flags("L21 of L1", "s1 w1 s2 w2", "r1 r2 w2 w1");
  by_flags("L21 of L2", "s1 r2 w2 w1", "r1 w1 s2 w2");
  by_flags("L21 of L3", "s1 r2 w12", "s2 r1 w12");
}

// One side has one epoch less than the other asks for.
TEST_P(Closing, PeerFreedItsHalf) {
  for (unsigned releases : {0u, 1u}) {
    expect_truth("receiver frees", {kind}, {"(s1 w1)3", "(r1 w1)2 c1"}, releases);
    expect_truth("receiver frees, and tells", {kind}, {"(s1 w1)2 a1 s1 w1", "(r1 w1)2 c1 e1"},
                 releases);
    expect_truth("sender frees", {kind}, {"(s1 w1)2 c1", "(r1 w1)3"}, releases);
    expect_truth("both free", {kind}, {"(s1 w1)2 c1", "(r1 w1)2 c1"}, releases);
  }
}

// A deferred start does not look whether its receiver has gone. It is held up once the slots are
// full.
TEST(ClosingDeferred, ASenderIsHeldUpForEver) {
  for (unsigned slots : {3u, 4u}) {
    const PairSpec kind = closing(deferred_ring(Mode::standard, slots));
    const std::string calls = "(s1 w1)" + std::to_string(slots + 3);
    for (unsigned releases : {0u, 1u, 2u}) {
      expect_truth("receiver frees", {kind}, {calls, "(r1 w1)2 c1"}, releases);
      expect_truth("receiver frees, and tells", {kind}, {"(s1 w1)2 a1 " + calls, "(r1 w1)2 c1 e1"},
                   releases);
    }
  }
}

// Every order in which each side may start and wait for two requests, also those that can never end
// by themselves: one release ends them all.
TEST_P(Closing, L21_OfAllOrders) {
  if (kind.slots * kind.lines > 2 && !long_run()) GTEST_SKIP() << in_the_whole_form;
  for (bool both_ways : {false, true})
    for (const std::string& a : all_orders('s', both_ways ? 'r' : 's', {1, 1}))
      for (const std::string& b : all_orders('r', both_ways ? 's' : 'r', {1, 1}))
        expect_truth("L21, fixed order", {kind, kind}, {a, b}, 1);
}

// Whatever failed before: a block serves a new pair once both sides have closed.
TEST_P(Closing, L18_BlockIsReusedWhenBothHaveClosed) {
  // More epochs would outgrow the model's list of PULL.
  const std::string first = kind.claim == ClaimBy::flags ? "1" : "2";
  const auto calls = [&](const std::string& epoch, const std::string& reuse) {
    return "(" + epoch + ")" + first + " c1 " + reuse + "(" + epoch + ")2";
  };
  const std::string zeroes = "z1 e1 a2", told = "a1 n1 e2";
  for (unsigned releases : {0u, 1u, 2u}) {
    expect_truth("L18", {kind}, {calls("s1 w1", zeroes), calls("r1 w1", told)}, releases);
    expect_truth("L18, by the receiver", {kind}, {calls("s1 w1", told), calls("r1 w1", zeroes)},
                 releases);
  }
}

TEST(ClosingReady, L21) {
  for (bool shares : {false, true}) {
    const PairSpec large = shares ? shared_rendezvous(ClaimBy::exchange, Mode::ready)
                                  : rendezvous(ClaimBy::exchange, Mode::ready);
    for (const PairSpec& kind : {closing(large), on_hosts(large)})
      for (unsigned releases : {1u, 2u})
        expect_truth("L21, ready", {ring(), kind}, {"r1 w1 s2 w2", "r2 s1 w1 w2"}, releases);
  }
}

TEST(ClosingShared, L21) {
  for (const PairSpec& kind :
       {closing(shared_rendezvous()), closing(shared_rendezvous(ClaimBy::flags)),
        on_hosts(shared_rendezvous())}) {
    for (unsigned releases : {1u, 2u})
      expect_truth("L21, shared", {kind}, {"(s1 w1)2", "(r1 w1)2"}, releases);
  }
}

TEST(ClosingFailedCopy, EndsBothWaits) {
  for (bool shares : {false, true}) {
    const PairSpec large = shares ? shared_rendezvous() : rendezvous();
    for (PairSpec kind : {closing(large), on_hosts(large)}) {
      kind.copy_may_fail = true;
      for (unsigned releases : {0u, 1u})
        expect_truth("a copy fails", {kind}, {"(s1 w1)2", "(r1 w1)2"}, releases);
    }
  }
}

// The receiver frees its half while its receive is started, as a channel's may be: behind that
// nothing comes into its buffer, whatever its sender is in the middle of.
TEST(ClosingUntouched, AReceiveThatIsFreed) {
  for (bool shares : {false, true})
    for (bool may_fail : {false, true}) {
      PairSpec kind = on_hosts(shares ? shared_rendezvous() : rendezvous());
      kind.copy_may_fail = may_fail;
      for (unsigned releases : {0u, 1u})
        for (const std::string receiver : {"r1 c1", "r1 w1 r1 c1"})
          expect_truth("freed", {kind}, {"(s1 w1)2", receiver}, releases);
      if (!shares) expect_truth("freed", {kind, kind}, {"s1 s2 w12", "r1 r2 c1 w2"}, 1);
    }
}
TEST(ClosingUntouched, AReadyReceiveThatIsFreed) {
  for (bool shares : {false, true}) {
    const PairSpec kind = on_hosts(shares ? shared_rendezvous(ClaimBy::exchange, Mode::ready)
                                          : rendezvous(ClaimBy::exchange, Mode::ready));
    for (unsigned releases : {0u, 1u})
      expect_truth("freed", {ring(), kind}, {"r1 w1 s2 w2", "r2 s1 w1 c2"}, releases);
  }
}

}  // namespace
}  // namespace penstock::explorer
