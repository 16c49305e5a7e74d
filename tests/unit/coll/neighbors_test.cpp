// SPDX-License-Identifier: Apache-2.0
// Blocks between neighbours: every byte, for graphs with several edges between two ranks.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "coll/neighbors.hpp"
#include "unit/coll/numbers_of_ranks.hpp"
#include "unit/coll/trial.hpp"

namespace penstock::coll {
namespace {

TEST(CollectiveNeighbors, EveryEdgeBringsItsBytes) {
  std::uint32_t seed = 0;
  for (const int ranks : numbers_of_ranks())
    for (const CollectiveKind kind :
         {CollectiveKind::neighbor_alltoall, CollectiveKind::neighbor_alltoallv})
      for (const std::size_t count : {0, 1, 7, 300})
        for (int number = 0; number < 8; ++number, ++seed) {
          Shape shape;
          shape.ranks = ranks;
          shape.count = count;
          const Trial trial = neighbor_trial(shape, seed);
          EXPECT_EQ(run(trial, trial.schedules(algorithms(kind).front()), seed), "")
              << ranks << ", seed " << seed;
        }
}

// Of rank 0, in a graph with two edges to rank 1, two from it and one to itself.
Shape double_edges() {
  Shape shape;
  shape.ranks = 2;
  shape.destinations = {1, 0, 1};
  shape.sends = {{0, 4}, {4, 4}, {8, 4}};
  shape.sources = {0, 1, 1};
  shape.receives = {{8, 4}, {0, 4}, {4, 4}};
  return shape;
}

TEST(CollectiveNeighbors, AreOnePhaseWithoutTemporaries) {
  const Schedule schedule = nonblocking_neighbors(double_edges(), 0);
  EXPECT_EQ(schedule.temporary, 0U);
  ASSERT_EQ(schedule.phases.size(), 1U);
  const Phase& phase = schedule.phases[0];
  ASSERT_EQ(phase.steps.size(), 1U);  // its own block
  EXPECT_EQ(std::get<Copy>(phase.steps[0]).from.offset, 4U);
  EXPECT_EQ(std::get<Copy>(phase.steps[0]).to.offset, 8U);
  ASSERT_EQ(phase.sends.size(), 2U);
  EXPECT_EQ(phase.sends[1].region.offset, 8U);
  ASSERT_EQ(phase.receives.size(), 2U);
  EXPECT_EQ(phase.receives[1].region.offset, 4U);
}

// A planted defect: the order of edges between two ranks is all that tells them apart.
TEST(CollectiveNeighbors, EdgesInAnotherOrderAreFound) {
  Trial trial;
  Shape shape = double_edges();
  shape.destinations = {1, 1, 1};
  shape.sources = {1, 1, 1};
  trial.shapes = {shape, shape};
  std::swap(trial.shapes[1].destinations, trial.shapes[1].sources);
  for (int& peer : trial.shapes[1].destinations) peer = 0;
  for (int& peer : trial.shapes[1].sources) peer = 0;
  trial.before.resize(2);
  for (RankMemory& memory : trial.before) {
    memory[Buffer::output].resize(12);
    for (std::size_t i = 0; i < 12; ++i)
      memory[Buffer::input].push_back(static_cast<std::byte>(i / 4));
  }
  trial.after = trial.before;
  for (RankMemory& memory : trial.after)
    for (std::size_t block = 0; block < 3; ++block)
      std::fill_n(&memory[Buffer::output][shape.receives[block].offset], 4,
                  static_cast<std::byte>(block));
  const Algorithm& algorithm = algorithms(CollectiveKind::neighbor_alltoall).front();
  std::vector<Schedule> schedules = trial.schedules(algorithm);
  EXPECT_EQ(run(trial, schedules, 0), "");
  std::swap(schedules[1].phases[0].receives[0], schedules[1].phases[0].receives[1]);
  for (std::uint32_t seed = 0; seed < 8; ++seed) EXPECT_NE(run(trial, schedules, seed), "");
}

}  // namespace
}  // namespace penstock::coll
