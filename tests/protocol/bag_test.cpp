// SPDX-License-Identifier: Apache-2.0
// Bags in every interleaving, and with every value that the memory model lets a load read: each
// message is grabbed once, in the order of its source, no slot is written while the receiver has
// it, every call ends, and nothing is taken for put that has gone into memory in new use. Each
// planted defect is found.
#include <gtest/gtest.h>

#include <iostream>
#include <string>

#include "protocol/bag/world.hpp"
#include "protocol/explorer/report.hpp"
#include "protocol/planted.hpp"

namespace penstock::explorer::bags {
namespace {

void expect_holds(const Scenario& scenario) {
  const GroupResult result = explore(scenario);
  std::cout << "  " << scenario.sources << " sources, " << scenario.grabbers << " grabbers, "
            << scenario.slots << " slots, " << scenario.messages << " messages: " << result.states
            << " states\n";
  EXPECT_TRUE(result.ok()) << result.failure;
}

TEST(Bag, OneSource) {
  for (const unsigned slots : {1u, 2u, 3u}) {
    Scenario scenario;
    scenario.slots = slots;
    expect_holds(scenario);
  }
}
TEST(Bag, SlotsThatComeBackInAnotherOrder) {
  Scenario scenario;
  scenario.messages = 4;
  scenario.held = 2;
  expect_holds(scenario);
}
TEST(Bag, TwoSources) {
  for (const unsigned slots : {1u, 2u}) {
    Scenario scenario;
    scenario.sources = 2;
    scenario.slots = slots;
    scenario.messages = 2;
    expect_holds(scenario);
  }
}
TEST(Bag, TwoGrabbers) {
  for (const unsigned slots : {1u, 2u}) {
    Scenario scenario;
    scenario.grabbers = 2;
    scenario.slots = slots;
    scenario.messages = 4;
    expect_holds(scenario);
  }
}
TEST(Bag, TwoSourcesAndTwoGrabbers) {
  Scenario scenario;
  scenario.sources = scenario.grabbers = 2;
  scenario.slots = 1;
  scenario.messages = long_run() ? 2 : 1;
  expect_holds(scenario);
}
// Where an end may fail, messages are two: WRITING changes with each, and the model holds few
// values of a word.
Scenario failing(unsigned which) {
  Scenario scenario;
  scenario.messages = 2;
  scenario.may_fail = which;
  return scenario;
}
// A source and two grabbers, each for one message.
Scenario two_grabbers_failing(unsigned which) {
  Scenario scenario = failing(which);
  scenario.grabbers = 2;
  return scenario;
}

TEST(Bag, AnEndGivesUp) {
  for (const unsigned slots : {1u, 2u}) {
    Scenario scenario = failing(3);
    scenario.slots = slots;
    expect_holds(scenario);
  }
}
TEST(Bag, OneOfTwoSourcesGivesUp) {
  Scenario scenario = failing(7);
  scenario.sources = 2;
  scenario.slots = scenario.messages = 1;
  expect_holds(scenario);
}
TEST(Bag, AnEndDies) {
  Scenario scenario = failing(0);
  scenario.may_die = 3;
  expect_holds(scenario);
}
// A grabber that gives up, or the source, while the other grabber may have a message.
TEST(Bag, AnEndOfTwoGrabbersGivesUp) {
  for (const unsigned slots : {1u, 2u}) {
    Scenario scenario = two_grabbers_failing(7);
    scenario.slots = slots;
    expect_holds(scenario);
  }
}
// Between any two accesses of a claim and what follows it, too.
TEST(Bag, ASourceOfTwoGrabbersDies) {
  for (const unsigned slots : {1u, 2u}) {
    Scenario scenario = two_grabbers_failing(0);
    scenario.slots = slots;
    scenario.may_die = 1;
    expect_holds(scenario);
  }
}

void expect_found(Defect defect, const std::string& word, Scenario scenario = {}) {
  scenario.defect = defect;
  expect_fails_by(explore(scenario), word);
}

Scenario two_grabbers() {
  Scenario scenario;
  scenario.grabbers = 2;
  scenario.messages = 4;
  return scenario;
}
Scenario two_held() {
  Scenario scenario;
  scenario.messages = 4;
  scenario.held = 2;
  return scenario;
}

const std::string race = "data race";

TEST(PlantedInBag, AWordBeforeTheMessage) {
  expect_found(Defect::head_first, race);
}
TEST(PlantedInBag, APutWithoutAsking) {
  expect_found(Defect::put_unasked, race);
}
TEST(PlantedInBag, APutThatAsksOfAnotherSlot) {
  expect_found(Defect::released_of_any, "not this message", two_held());
}
TEST(PlantedInBag, AnEntryBehindItsMessage) {
  expect_found(Defect::entry_late, "not this message", two_held());
}
TEST(PlantedInBag, AnEntryThatIsReadBehindTheClaim) {
  expect_found(Defect::entry_behind, race, two_grabbers());
}
TEST(PlantedInBag, SlotsThatAreTakenInTurn) {
  expect_found(Defect::entry_unread, "not this message", two_held());
}
TEST(PlantedInBag, AReleaseBeforeTheLastUse) {
  expect_found(Defect::released_early, race);
}
TEST(PlantedInBag, AClaimWithoutExchange) {
  expect_found(Defect::claimed_by_a_store, "grabbed twice", two_grabbers());
}
TEST(PlantedInBag, AClaimOfWhatIsNotThere) {
  expect_found(Defect::claimed_unseen, "not this message");
}
TEST(PlantedInBag, AMessageBeforeWhichNobodyLooks) {
  expect_found(Defect::closed_unread, race, failing(3));
}
TEST(PlantedInBag, AReceiverThatDoesNotWaitForWhatIsBeingWritten) {
  expect_found(Defect::left_at_once, race, failing(3));
}
TEST(PlantedInBag, ASourceThatDoesNotSayThatItWrites) {
  expect_found(Defect::writing_unmarked, race, failing(3));
}
TEST(PlantedInBag, AGrabThatDoesNotLookAgain) {
  expect_found(Defect::asked_once, "is missed", failing(3));
}
TEST(PlantedInBag, AThreadThatFreesTheBagOfOthers) {
  expect_found(Defect::left_alone, race, two_grabbers_failing(7));
}
TEST(PlantedInBag, AClaimThatIsDroppedAsItsSourceIsDead) {
  Scenario dying = two_grabbers_failing(0);
  dying.may_die = 1;
  expect_found(Defect::dropped, "is lost", dying);
}

TEST(WeakenedInBag, Words) {
  expect_found(Defect::head_relaxed, race);
  expect_found(Defect::head_asked_relaxed, race);
  expect_found(Defect::released_relaxed, race);
  expect_found(Defect::released_asked_relaxed, race);
}
TEST(WeakenedInBag, Fences) {
  expect_found(Defect::unfenced, race, failing(3));
  expect_found(Defect::closed_unfenced, race, failing(3));
}
TEST(WeakenedInBag, Writing) {
  expect_found(Defect::written_relaxed, race, failing(3));
  expect_found(Defect::writing_asked_relaxed, race, failing(3));
}
TEST(WeakenedInBag, ThreadsThatEnd) {
  expect_found(Defect::counted_relaxed, race, two_grabbers_failing(7));
}
TEST(WeakenedInBag, Closed) {
  expect_found(Defect::closed_asked_relaxed, "is missed", failing(3));
}

}  // namespace
}  // namespace penstock::explorer::bags
