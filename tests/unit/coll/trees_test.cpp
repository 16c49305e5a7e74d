// SPDX-License-Identifier: Apache-2.0
// Broadcast, reduction, allgather and barrier among up to 24 ranks.
#include "coll/trees.hpp"

#include <gtest/gtest.h>

#include <bit>

#include "unit/coll/numbers_of_ranks.hpp"
#include "unit/coll/trial.hpp"

namespace penstock::coll {
namespace {

void try_all(CollectiveKind collective, const Shape& shape, const Trial& trial,
             std::uint32_t seeds) {
  for (const Algorithm& algorithm : algorithms(collective))
    for (std::uint32_t seed = 0; seed < seeds; ++seed)
      EXPECT_EQ(run(trial, trial.schedules(algorithm), seed), "")
          << algorithm.name << " " << shape.ranks << " ranks, root " << shape.root << ", count "
          << shape.count << ", in place " << shape.in_place << ", seed " << seed;
}

Shape flat(int ranks, std::size_t count) {
  Shape shape;
  shape.ranks = ranks;
  shape.count = count;
  return shape;
}

std::size_t messages(const std::vector<Schedule>& schedules) {
  std::size_t sum = 0;
  for (const Schedule& schedule : schedules)
    for (const Phase& phase : schedule.phases) sum += phase.sends.size();
  return sum;
}

std::size_t bytes_of_sends(const Schedule& schedule) {
  std::size_t sum = 0;
  for (const Phase& phase : schedule.phases)
    for (const Send& send : phase.sends) sum += send.region.bytes;
  return sum;
}

TEST(Bcast, FromEveryRoot) {
  for (const int ranks : numbers_of_ranks())
    for (int root = 0; root < ranks; ++root)
      for (const std::size_t count : {0, 1, 7, 1000}) {
        Shape shape = flat(ranks, count);
        shape.root = root;
        shape.in_place = true;
        try_all(CollectiveKind::bcast, shape, bcast_trial(shape), 2);
      }
}

TEST(Bcast, EachRankGetsItOnceAndTheDepthIsLogarithmic) {
  for (const int ranks : numbers_of_ranks()) {
    const Shape shape = flat(ranks, 1);
    const std::vector<Schedule> schedules =
        bcast_trial(shape).schedules(algorithms(CollectiveKind::bcast)[0]);
    EXPECT_EQ(messages(schedules), ranks - 1U);
    for (const Schedule& schedule : schedules)
      EXPECT_LE(schedule.phases.size(), std::bit_width(ranks - 1U) + 1U);
  }
}

// The value of the tree of a place, which has the places up to the next with its lowest bit.
float value_of_tree(const Shape& shape, const std::vector<float>& values, int first, int below) {
  float value = values[(first + shape.root) % shape.ranks];
  for (int bit = 1; bit < below && first + bit < shape.ranks; bit *= 2)
    value = combined(value, value_of_tree(shape, values, first + bit, bit));
  return value;
}

float by_tree(const Shape& shape, const std::vector<float>& values) {
  return value_of_tree(shape, values, 0, shape.ranks);
}

TEST(Reduce, ToEveryRootInTheOrderOfItsTree) {
  for (const int ranks : numbers_of_ranks())
    for (int root = 0; root < ranks; ++root)
      for (const std::size_t count : {0, 1, 7, 100}) {
        Shape shape = flat(ranks, count);
        shape.element = sizeof(float);
        shape.root = root;
        shape.in_place = (root + count) % 2 == 0;
        try_all(CollectiveKind::reduce, shape, reduce_trial(shape, by_tree), 2);
      }
}

TEST(Allgather, EveryAlgorithmBringsEveryByte) {
  for (const int ranks : numbers_of_ranks())
    for (const std::size_t count : {0, 1, 7, 1000})
      for (const bool in_place : {false, true}) {
        Shape shape = flat(ranks, count);
        shape.in_place = in_place;
        try_all(CollectiveKind::allgather, shape, allgather_trial(shape), 2);
      }
}

TEST(Allgather, SendsAsInTheTable) {
  for (const int ranks : numbers_of_ranks()) {
    const Shape shape = flat(ranks, 64);
    for (const Algorithm& algorithm : algorithms(CollectiveKind::allgather)) {
      const Schedule schedule = algorithm.schedule(shape, ranks / 2);
      EXPECT_EQ(bytes_of_sends(schedule), 64U * (ranks - 1));
      const std::size_t steps =
          algorithm.name == "ring" ? ranks - 1U : std::bit_width(ranks - 1U) * 1U;
      EXPECT_EQ(messages({schedule}), steps);
      EXPECT_EQ(schedule.temporary, algorithm.name == "ring" ? 0U : 64U * ranks);
    }
  }
}

// Who has heard of whom, as the messages of each phase bring it: all of all, at the end.
TEST(Barrier, EachRankHearsOfAll) {
  for (const int ranks : numbers_of_ranks()) {
    const Shape shape = flat(ranks, 0);
    const Trial trial = barrier_trial(shape);
    try_all(CollectiveKind::barrier, shape, trial, 4);
    const auto schedules = trial.schedules(algorithms(CollectiveKind::barrier)[0]);
    std::vector<std::uint32_t> heard(ranks);
    for (int rank = 0; rank < ranks; ++rank) heard[rank] = 1U << rank;
    for (std::size_t phase = 0; phase < schedules[0].phases.size(); ++phase) {
      const std::vector<std::uint32_t> before = heard;
      for (int rank = 0; rank < ranks; ++rank)
        for (const Receive& receive : schedules[rank].phases[phase].receives)
          heard[rank] |= before[receive.peer];
    }
    EXPECT_EQ(heard, std::vector<std::uint32_t>(ranks, (1U << ranks) - 1));
  }
}

}  // namespace
}  // namespace penstock::coll
