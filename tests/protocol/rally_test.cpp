// SPDX-License-Identifier: Apache-2.0
// The direct exchange in every interleaving, and with every value that the memory model lets a load
// read: every byte of every epoch is that of its sender, and combined in the order of the ranks;
// every epoch ends, and none behind a failure. Each planted defect is found.
#include <gtest/gtest.h>

#include <iostream>

#include "protocol/explorer/report.hpp"
#include "protocol/planted.hpp"
#include "protocol/rally/world.hpp"

namespace penstock::explorer::rallies {
namespace {

constexpr Lines one_way{{{0, 1, 0}, {0, 0, 0}, {0, 0, 0}}};
constexpr Lines nothing{};
constexpr Lines unequal{{{1, 2, 1}, {1, 1, 1}, {1, 1, 1}}};

void expect_holds(const char* name, const Scenario& scenario) {
  const GroupResult result = explore(scenario);
  std::cout << "  " << name << (scenario.apart ? ", apart, " : ", ") << scenario.members
            << " members, " << scenario.epochs << " epochs: " << result.states << " states\n";
  EXPECT_TRUE(result.ok()) << name << ": " << result.failure;
}

// Start and wait in one call, and apart.
void expect_both_hold(const char* name, Scenario scenario) {
  for (const bool apart : {false, true}) {
    scenario.apart = apart;
    expect_holds(name, scenario);
  }
}

unsigned longer(unsigned epochs) {
  return long_run() ? 2 * epochs : epochs;
}

class Rally : public ::testing::TestWithParam<Form> {
 protected:
  Scenario scenario(unsigned members, unsigned epochs) const {
    Scenario scenario;
    scenario.members = members;
    scenario.epochs = epochs;
    scenario.form = GetParam();
    return scenario;
  }
  // Three members take long.
  bool has_time_for_three() const { return GetParam() == Form::lines || long_run(); }
};

INSTANTIATE_TEST_SUITE_P(, Rally, ::testing::Values(Form::lines, Form::cells),
                         [](const auto& form) {
                           return form.param == Form::lines ? "lines" : "cells";
                         });

// Flags of two bits come round ten times, those of three bits five times.
TEST_P(Rally, TwoMembers) {
  Scenario two = scenario(2, longer(41));
  expect_both_hold("one line", two);
  two.flag_bits = 3;
  expect_both_hold("one line, flags of three bits", two);
  two.lines = two_each;
  expect_both_hold("two lines", two);
  two.lines = unequal;
  expect_both_hold("two lines and one", two);
}

TEST_P(Rally, ThreeMembers) {
  Scenario three = scenario(3, longer(5));
  if (has_time_for_three()) expect_holds("one line", three);
  three.apart = true;
  expect_holds("one line", three);
}

TEST_P(Rally, WhoHasNothingSendsALine) {
  Scenario two = scenario(2, longer(41));
  two.lines = one_way;
  expect_both_hold("one way", two);
  two.lines = nothing;
  expect_both_hold("a barrier", two);
}

TEST_P(Rally, LinesInTurns) {
  Scenario two = scenario(2, longer(41));
  two.in_turns = true;
  two.lines = two_each;
  expect_holds("in turns", two);
  two.lines = unequal;
  expect_holds("in turns, two lines and one", two);
  two.ahead = 1;
  expect_holds("in turns, two lines and one, one ahead", two);
  two.ahead = 0;
  two.epochs = longer(10);
  two.may_fail = 3;
  expect_holds("in turns, given up", two);
  Scenario three = scenario(3, longer(3));
  three.in_turns = true;
  three.closes = false;
  three.lines = unequal;
  if (has_time_for_three()) expect_holds("in turns", three);
}

TEST_P(Rally, TwoFlights) {
  Scenario two = scenario(2, longer(41));
  two.flights = 2;
  expect_both_hold("results", two);
  Scenario three = scenario(3, long_run() ? 5 : 3);
  three.flights = 2;
  three.closes = false;
  if (has_time_for_three()) expect_holds("results", three);
}

// What comes in a flight of results has been asked for by lines of its epoch.
TEST_P(Rally, OneSlotOfResultsWouldDo) {
  Scenario two = scenario(2, longer(41));
  two.flights = 2;
  two.defect = Defect::one_slot_of_results;
  expect_both_hold("one slot of results", two);
  Scenario three = scenario(3, 3);
  three.flights = 2;
  three.closes = false;
  three.defect = Defect::one_slot_of_results;
  if (long_run()) expect_holds("one slot of results", three);
}

// Two blocks a kernel, each with a line of its own.
TEST(RallyOfBlocks, TwoMembers) {
  Scenario blocks;
  blocks.form = Form::cells;
  blocks.blocks = 2;
  blocks.closes = false;
  blocks.epochs = longer(6);
  blocks.lines = two_each;
  expect_both_hold("two blocks", blocks);
  blocks.lines = unequal;
  expect_both_hold("two blocks, one of which gets nothing", blocks);
  blocks.lines = two_each;
  blocks.flights = 2;
  blocks.epochs = longer(3);
  expect_holds("two blocks, results", blocks);
}

TEST_P(Rally, L21_AnyMemberGivesUp) {
  Scenario failing = scenario(2, longer(10));
  failing.may_fail = 3;
  expect_both_hold("given up", failing);
  failing.flights = 2;
  expect_both_hold("given up, results", failing);
  failing = scenario(3, 2);
  failing.may_fail = long_run() ? 7 : 1;
  if (has_time_for_three()) expect_holds("given up", failing);
}

TEST_P(Rally, AMemberDies) {
  Scenario dying = scenario(2, longer(10));
  dying.may_die = 3;
  expect_both_hold("one dies", dying);
  dying.lines = two_each;
  expect_both_hold("one dies, two lines", dying);
  dying = scenario(3, long_run() ? 2 : 1);
  dying.may_die = long_run() ? 7 : 1;
  if (has_time_for_three()) expect_holds("one dies", dying);
}

void expect_found(Defect defect, const std::string& word, Scenario scenario = {}) {
  scenario.defect = defect;
  expect_fails_by(explore(scenario), word);
}

Scenario of(unsigned members, Form form, const Lines& lines = one_each) {
  Scenario scenario;
  scenario.members = members;
  scenario.form = form;
  scenario.lines = lines;
  return scenario;
}

const std::string race = "data race", other = "not of this epoch", stuck = "cannot end";

TEST(PlantedInRally, OneSlot) {
  for (const unsigned members : {2u, 3u}) {
    expect_found(Defect::one_slot, race, of(members, Form::lines));
    Scenario cells = of(members, Form::cells);
    cells.epochs = 3;
    expect_found(Defect::one_slot, stuck, cells);
  }
}
TEST(PlantedInRally, AFlagOfOneBit) {
  Scenario narrow;
  narrow.flag_bits = 1;
  expect_found(Defect::none, other, narrow);
}
TEST(PlantedInRally, AFlagComparedByParity) {
  expect_found(Defect::parity_only, other);
  expect_found(Defect::parity_only, other, of(2, Form::cells));
}
TEST(PlantedInRally, AFlagBeforeItsData) {
  expect_found(Defect::flag_first, race);
}
TEST(PlantedInRally, ALineReadBehindTheNextStart) {
  expect_found(Defect::taken_late, race);
}
TEST(PlantedInRally, NothingSentToWhoGetsNothing) {
  expect_found(Defect::no_empty_line, race, of(2, Form::lines, one_way));
  expect_found(Defect::no_empty_line, other, of(2, Form::cells, one_way));
}
TEST(PlantedInRally, AStartBeforeTheWaitOfTheEpochBefore) {
  expect_found(Defect::starts_early, race);
  expect_found(Defect::starts_early, stuck, of(2, Form::cells));
}
TEST(PlantedInRally, ALineAwaitedBeforeOursIsSent) {
  Scenario turns = of(2, Form::cells, two_each);
  turns.in_turns = true;
  expect_found(Defect::takes_first, stuck, turns);
}
TEST(PlantedInRally, OwnDataCombinedFirst) {
  expect_found(Defect::own_first, "order of the ranks");
}
TEST(PlantedInRally, BlocksThatDoNotWaitForTheKernelBefore) {
  Scenario blocks = of(2, Form::cells, unequal);
  blocks.blocks = 2;
  blocks.closes = false;
  expect_found(Defect::no_boundary, other, blocks);
}
TEST(PlantedInRally, AMemberThatGoesOnBehindAFailure) {
  Scenario failing = of(2, Form::cells);
  failing.may_fail = 1;
  expect_found(Defect::goes_on, "has failed before", failing);
  failing = of(3, Form::lines);
  failing.may_fail = 1;
  expect_found(Defect::goes_on, race, failing);
}
TEST(PlantedInRally, AMemberThatIsNotToldOfAFailure) {
  Scenario failing;
  failing.may_fail = 1;
  expect_found(Defect::closed_untold, stuck, failing);
}
TEST(PlantedInRally, MemoryUsedAgainBeforeAllHaveClosed) {
  Scenario failing;
  failing.may_fail = 1;
  expect_found(Defect::reused_early, race, failing);
}

TEST(WeakenedInRally, Flag) {
  expect_found(Defect::flag_relaxed, race);
  expect_found(Defect::look_relaxed, race);
}
TEST(WeakenedInRally, Closed) {
  Scenario failing;
  failing.may_fail = 1;
  expect_found(Defect::closed_relaxed, "in new use", failing);
  expect_found(Defect::closed_read_relaxed, "in new use", failing);
  expect_found(Defect::closed_asked_relaxed, "is missed", failing);
}

}  // namespace
}  // namespace penstock::explorer::rallies
