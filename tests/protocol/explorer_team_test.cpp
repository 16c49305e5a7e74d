// SPDX-License-Identifier: Apache-2.0
// Several blocks of one end, in every interleaving: what the shipped code of a team does is in
// order, and each planted defect is found.
#include <gtest/gtest.h>

#include <iostream>

#include "protocol/explorer/report.hpp"
#include "protocol/team/world.hpp"

namespace penstock::explorer::teams {
namespace {

const char* name(Task task) {
  return task == Task::push ? "push" : "pull";
}

void expect_holds(const Scenario& scenario) {
  const Result result = explore(scenario);
  std::cout << "  " << name(scenario.task) << ", " << scenario.blocks << " blocks, "
            << scenario.parts << " parts, " << scenario.epochs << " epochs: " << result.states
            << " states\n";
  EXPECT_TRUE(result.ok()) << result.failure;
}

// A word of the failure's first line tells it.
void expect_failure(const Result& result, const std::string& word) {
  const std::string first_line = result.failure.substr(0, result.failure.find('\n'));
  std::cout << "  " << (result.ok() ? "NOT FOUND" : first_line) << '\n';
  EXPECT_NE(first_line.find(word), std::string::npos)
      << (result.ok() ? "not found" : result.failure);
}

void expect_found(Defect defect, const std::string& by_push, const std::string& by_pull) {
  expect_failure(explore({Task::push, 2, 2, 2, false, defect}), by_push);
  expect_failure(explore({Task::pull, 2, 2, 2, false, defect}), by_pull);
}

void expect_harmless(Defect defect) {
  for (const Task task : {Task::push, Task::pull}) {
    const Result result = explore({task, 2, 2, 1, false, defect});
    EXPECT_TRUE(result.ok()) << result.failure;
  }
}

const std::string race = "data race", other = "another message", unordered = "unordered stores",
                  late = "came after";

TEST(Team, L21_TwoBlocksPush) {
  expect_holds({Task::push, 2, 2, 2});
}
TEST(Team, L21_TwoBlocksPull) {
  expect_holds({Task::pull, 2, 2, 2});
}
TEST(Team, L21_TwoBlocksPushThreeParts) {
  expect_holds({Task::push, 2, 3, 1});
}
TEST(Team, L21_TwoBlocksPullThreeParts) {
  expect_holds({Task::pull, 2, 3, 1});
}

TEST(Team, L21_ABlockIsReleasedBeforeItsLeaderComes) {
  const unsigned epochs = explorer::long_run() ? 2 : 1;
  expect_holds({Task::push, 2, 2, epochs, true});
  expect_holds({Task::pull, 2, 2, epochs, true});
}

TEST(PlantedDefect, ABlockWithoutItsLeaderTells) {
  for (const Task task : {Task::push, Task::pull})
    expect_failure(explore({task, 2, 2, 1, true, Defect::tells_without_leader}), race);
}
// A push that nobody tells of leaves its peer waiting, which the model allows.
TEST(PlantedDefect, NobodyTellsForABlockWithoutItsLeader) {
  expect_failure(explore({Task::pull, 2, 2, 1, true, Defect::untold_is_forgotten}), other);
}
TEST(PlantedDefect, ALateBlockDoesNotLook) {
  expect_found(Defect::late_block_does_not_check, late, late);
}
TEST(PlantedDefect, TheFirstFailingBlockTells) {
  expect_found(Defect::first_failure_tells, race, race);
}
TEST(PlantedDefect, OnlyTheFirstFailureTellsTheHost) {
  expect_found(Defect::only_the_first_tells_the_host, "reported as sent", "reported as received");
}
TEST(PlantedDefect, ABlockThatIsNotCounted) {
  expect_found(Defect::not_counted, race, race);
}
TEST(PlantedDefect, ACommandOfAnOlderKernel) {
  expect_found(Defect::stale_command, other, other);
}
TEST(PlantedDefect, DoneBeforeTheCopy) {
  expect_found(Defect::done_before_copy, other, race);
}
TEST(PlantedDefect, NoFenceBehindTheCopy) {
  expect_found(Defect::no_fence_after_copy, other, race);
}
TEST(PlantedDefect, ReuseAfterClosed) {
  expect_found(Defect::reuse_after_closed, unordered, unordered);
}
TEST(WeakenedOrder, Command) {
  expect_found(Defect::relaxed_command_store, unordered, other);
  expect_found(Defect::relaxed_command_load, unordered, other);
}
// The fence of closing::close, which comes before the user is told, orders what these do.
TEST(WeakenedOrder, NotNeeded) {
  expect_harmless(Defect::relaxed_mark);
  expect_harmless(Defect::no_fence_before_end);
}

}  // namespace
}  // namespace penstock::explorer::teams
