// SPDX-License-Identifier: Apache-2.0
// Channels by words in every interleaving, and with every value that the memory model lets a load
// read, for every pair of grids: each message is its put's, no unit is written while the receiver
// has it, every call ends, and nothing is written into a buffer that is its program's again.
// Each planted defect is found.
#include <gtest/gtest.h>

#include <iostream>
#include <string>

#include "protocol/explorer/report.hpp"
#include "protocol/planted.hpp"
#include "protocol/segment/world.hpp"

namespace penstock::explorer::segments {
namespace {

std::vector<Cut> cuts_of(unsigned units) {
  if (units == 2) return {{2}, {1, 1}};
  return {{3}, {1, 2}, {2, 1}, {1, 1, 1}};
}

std::string text(const Cut& cut) {
  std::string all;
  for (const unsigned units : cut) all += (all.empty() ? "" : "+") + std::to_string(units);
  return all;
}

void expect_holds(const char* name, const Scenario& scenario) {
  const GroupResult result = explore(scenario);
  std::cout << "  " << name << ", " << text(scenario.sent) << " to " << text(scenario.taken) << ", "
            << scenario.messages << " messages: " << result.states << " states\n";
  EXPECT_TRUE(result.ok()) << name << ": " << result.failure;
}

void for_each_pair_of_grids(unsigned units, const char* name, Scenario scenario) {
  scenario.units = units;
  for (const Cut& sent : cuts_of(units))
    for (const Cut& taken : cuts_of(units)) {
      scenario.sent = sent;
      scenario.taken = taken;
      expect_holds(name, scenario);
    }
}

TEST(Segment, TwoUnits) {
  for_each_pair_of_grids(2, "two units", {});
}
TEST(Segment, ThreeUnits) {
  for_each_pair_of_grids(3, "three units", {});
}

TEST(Segment, TwoThreadsOnNeighbours) {
  Scenario scenario;
  scenario.senders = 2;
  for (const Cut& taken : cuts_of(2)) {
    scenario.taken = taken;
    expect_holds("two threads", scenario);
  }
}

TEST(Segment, AnEndGivesUp) {
  Scenario failing;
  failing.messages = 2;
  failing.may_fail = 3;
  for_each_pair_of_grids(2, "given up", failing);
}

TEST(Segment, AnEndGivesUpWhileTwoThreadsSend) {
  Scenario failing;
  failing.messages = 1;  // WRITING changes often, and the model holds few values of a word
  failing.senders = 2;
  failing.may_fail = 4;
  expect_holds("given up, two threads", failing);
}

TEST(Segment, AnEndDies) {
  Scenario dying;
  dying.messages = 2;
  dying.may_die = 3;
  for_each_pair_of_grids(2, "one dies", dying);
}

void expect_found(Defect defect, const std::string& word, Scenario scenario = {}) {
  scenario.defect = defect;
  expect_fails_by(explore(scenario), word);
}

Scenario failing() {
  Scenario scenario;
  scenario.may_fail = 3;
  return scenario;
}

const std::string race = "data race", other = "not this message";

TEST(PlantedInSegment, AWordBeforeTheMessage) {
  expect_found(Defect::arrived_first, race);
}
TEST(PlantedInSegment, APutWithoutAsking) {
  expect_found(Defect::put_unasked, other);
}
TEST(PlantedInSegment, AReleaseBeforeTheLastUse) {
  expect_found(Defect::released_early, race);
}
TEST(PlantedInSegment, AWordOfTheMessageBefore) {
  expect_found(Defect::arrived_of_before, other);
}
TEST(PlantedInSegment, OneUnitThatSpeaksForItsRange) {
  expect_found(Defect::first_unit_alone, other);
}
TEST(PlantedInSegment, AMessageBeforeWhichNobodyLooks) {
  expect_found(Defect::closed_unread, race, failing());
}
TEST(PlantedInSegment, AReceiverThatDoesNotWaitForWhatIsBeingWritten) {
  expect_found(Defect::left_at_once, race, failing());
}
TEST(PlantedInSegment, ASenderThatIsNotCounted) {
  expect_found(Defect::writing_unmarked, race, failing());
}

TEST(WeakenedInSegment, Words) {
  expect_found(Defect::arrived_relaxed, race);
  expect_found(Defect::arrived_asked_relaxed, race);
  expect_found(Defect::released_relaxed, race);
  expect_found(Defect::released_asked_relaxed, race);
}
TEST(WeakenedInSegment, Fences) {
  expect_found(Defect::unfenced, race, failing());
  expect_found(Defect::closed_unfenced, race, failing());
}
TEST(WeakenedInSegment, Writing) {
  expect_found(Defect::written_relaxed, race, failing());
  expect_found(Defect::writing_asked_relaxed, race, failing());
}
TEST(WeakenedInSegment, Closed) {
  expect_found(Defect::closed_asked_relaxed, "is missed", failing());
}

}  // namespace
}  // namespace penstock::explorer::segments
