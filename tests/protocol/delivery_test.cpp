// SPDX-License-Identifier: Apache-2.0
// Deliveries in every interleaving, and with every value that the memory model lets a load read:
// every block of every epoch is that of its sender, no buffer is written while its program uses it,
// every epoch ends, and none behind a failure. Each planted defect is found.
#include <gtest/gtest.h>

#include <iostream>
#include <string>

#include "protocol/delivery/world.hpp"
#include "protocol/explorer/report.hpp"
#include "protocol/planted.hpp"

namespace penstock::explorer::deliveries {
namespace {

constexpr Blocks one_way{{{false, true, false}, {false, false, false}, {false, false, false}}};
constexpr Blocks nothing{};
constexpr Blocks ring{{{false, true, false}, {false, false, true}, {true, false, false}}};
constexpr Blocks chain{{{false, true, false}, {false, false, true}, {false, false, false}}};

unsigned longer(unsigned epochs) {
  return long_run() ? 2 * epochs : epochs;
}

void expect_holds(const char* name, const Scenario& scenario) {
  const GroupResult result = explore(scenario);
  std::cout << "  " << name << (scenario.together ? ", between barriers, " : ", by pairs, ")
            << scenario.members << " members, " << scenario.epochs << " epochs: " << result.states
            << " states\n";
  EXPECT_TRUE(result.ok()) << name << ": " << result.failure;
}

// By pairs, and between barriers.
class Delivery : public ::testing::TestWithParam<bool> {
 protected:
  // Three members between barriers take long where one may fail.
  static bool has_time_for_three() { return !GetParam() || long_run(); }
  static Scenario of(unsigned members, unsigned epochs, const Blocks& blocks = all_blocks) {
    Scenario scenario;
    scenario.members = members;
    scenario.epochs = epochs;
    scenario.blocks = blocks;
    scenario.together = GetParam();
    return scenario;
  }
};
INSTANTIATE_TEST_SUITE_P(, Delivery, ::testing::Values(false, true), [](const auto& together) {
  return together.param ? "between_barriers" : "by_pairs";
});

TEST_P(Delivery, TwoMembers) {
  Scenario two = of(2, longer(20));
  expect_holds("a block each", two);
  two.in_place = true;
  expect_holds("in place", two);
}

TEST_P(Delivery, WhoHasNothingForTheOther) {
  expect_holds("one way", of(2, longer(20), one_way));
  expect_holds("nothing", of(2, longer(6), nothing));
}

TEST_P(Delivery, ThreeMembers) {
  expect_holds("a ring", of(3, longer(2), ring));
  expect_holds("a chain", of(3, longer(2), chain));
  if (long_run()) expect_holds("a block each", of(3, 2));
}

TEST_P(Delivery, L21_AnyMemberGivesUp) {
  Scenario failing = of(2, longer(8));
  failing.may_fail = 3;
  expect_holds("given up", failing);
  failing.blocks = one_way;
  expect_holds("given up, one way", failing);
  failing = of(3, longer(1), chain);
  failing.may_fail = long_run() ? 7 : 1;
  if (has_time_for_three()) expect_holds("given up, a chain", failing);
}

TEST_P(Delivery, AMemberDies) {
  Scenario dying = of(2, longer(8));
  dying.may_die = 3;
  expect_holds("one dies", dying);
  dying = of(3, 1, chain);
  dying.may_die = long_run() ? 7 : 2;
  if (has_time_for_three()) expect_holds("one dies, a chain", dying);
}

// As of memory that is gone. It may have written a part of the block.
TEST_P(Delivery, ACopyFails) {
  Scenario failing = of(2, longer(6));
  failing.may_fail_to_copy = 3;
  expect_holds("a copy fails", failing);
  failing.blocks = one_way;
  expect_holds("a copy fails, one way", failing);
  failing = of(3, 1, chain);
  failing.may_fail_to_copy = long_run() ? 7 : 2;
  if (has_time_for_three()) expect_holds("a copy fails, a chain", failing);
}

TEST_P(Delivery, AMemberIsFreedBetweenEpochs) {
  Scenario freed = of(2, longer(8));
  freed.may_be_freed = 3;
  expect_holds("freed", freed);
  freed = of(3, longer(1), chain);
  freed.may_be_freed = long_run() ? 7 : 2;
  if (has_time_for_three()) expect_holds("freed, a chain", freed);
}

void expect_found(Defect defect, const std::string& word, Scenario scenario = {}) {
  scenario.defect = defect;
  expect_fails_by(explore(scenario), word);
}

Scenario together() {
  Scenario scenario;
  scenario.together = true;
  return scenario;
}
Scenario failing() {
  Scenario scenario;
  scenario.may_fail = 1;
  return scenario;
}

const std::string race = "data race", other = "not of this epoch";

TEST(PlantedInDelivery, ABlockWithoutAWordOfItsReceiver) {
  expect_found(Defect::cts_unread, race);
  expect_found(Defect::cts_unread, "before the barrier", together());
}
TEST(PlantedInDelivery, AWordOfAnEarlierEpoch) {
  expect_found(Defect::cts_of_before, race);
  expect_found(Defect::cts_of_before, "before the barrier", together());
  expect_found(Defect::done_of_before, other);
  expect_found(Defect::done_of_before, other, together());
}
TEST(PlantedInDelivery, AWordBeforeTheBlock) {
  expect_found(Defect::done_first, race);
}
TEST(PlantedInDelivery, AnEpochAhead) {
  expect_found(Defect::early_start, race);
  expect_found(Defect::early_start, race, together());
}
TEST(PlantedInDelivery, InPlaceNothingSetAside) {
  Scenario in_place;
  in_place.in_place = true;
  expect_found(Defect::not_aside, race, in_place);
}
TEST(PlantedInDelivery, ABlockBeforeTheBarrier) {
  Scenario three = together();
  three.members = 3;
  expect_found(Defect::pairs_together, "before the barrier", three);
}
TEST(PlantedInDelivery, AMemberThatGoesOnBehindAFailure) {
  expect_found(Defect::goes_on, race, failing());
}
TEST(PlantedInDelivery, ACopyThatHasFailedAndIsTakenForOne) {
  Scenario scenario;
  scenario.may_fail_to_copy = 1;
  expect_found(Defect::failure_unseen, other, scenario);
  scenario.together = true;
  expect_found(Defect::failure_unseen, other, scenario);
}
TEST(PlantedInDelivery, AMemberThatIsNotToldOfAFailure) {
  expect_found(Defect::closed_untold, "taken for delivered", failing());
}
TEST(PlantedInDelivery, ACopyBehindWhichNobodyLooks) {
  expect_found(Defect::closed_unread, "taken for delivered", failing());
}
TEST(PlantedInDelivery, WordsUsedAgainBeforeAllHaveClosed) {
  expect_found(Defect::reused_early, "in new use", failing());
}

TEST(WeakenedInDelivery, Words) {
  expect_found(Defect::cts_relaxed, race);
  expect_found(Defect::done_relaxed, race);
}
TEST(WeakenedInDelivery, Fences) {
  expect_found(Defect::no_fence, "taken for delivered", failing());
  expect_found(Defect::closed_unfenced, "taken for delivered", failing());
}
TEST(WeakenedInDelivery, Closed) {
  expect_found(Defect::closed_relaxed, "in new use", failing());
  expect_found(Defect::closed_asked_relaxed, "is missed", failing());
}

}  // namespace
}  // namespace penstock::explorer::deliveries
