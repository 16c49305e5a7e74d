// SPDX-License-Identifier: Apache-2.0
// Every algorithm of alltoall and alltoallv among up to 24 ranks: each byte, what each rank sends,
// and the temporaries.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "coll/pairwise.hpp"
#include "unit/coll/numbers_of_ranks.hpp"
#include "unit/coll/trial.hpp"

namespace penstock::coll {
namespace {

constexpr int placements = 3;

// All (N, p), and all parts of a node as group and leader.
void each_placement(int ranks, const std::function<void(const Shape&)>& use) {
  for (const int nodes : divisors(ranks))
    for (const int part : divisors(ranks / nodes))
      for (int kind = 0; kind < placements; ++kind) {
        Shape shape = placed(nodes, ranks / nodes, kind);
        shape.group = shape.leader = part;
        shape.batch = part;
        use(shape);
      }
}

void try_alltoall(Shape shape, const Algorithm& algorithm, std::uint32_t seed) {
  shape.in_place = seed / 2 % 2 == 1;
  const Trial trial = alltoall_trial(shape);
  const std::string complaint = run(trial, trial.schedules(algorithm), seed);
  EXPECT_EQ(complaint, "") << algorithm.name << " " << shape.ranks << " ranks, part " << shape.group
                           << ", count " << shape.count << ", seed " << seed;
}

// A seed decides about sends that wait for receives, about the place and about all orders.
TEST(Alltoall, EveryAlgorithmBringsEveryByte) {
  std::minstd_rand seeds(1);
  for (const int ranks : numbers_of_ranks())
    each_placement(ranks, [&](Shape shape) {
      for (const Algorithm& algorithm : algorithms(CollectiveKind::alltoall))
        for (const std::size_t count : {0, 1, 7}) {
          if (shape.group > 1 && algorithm.width == nullptr) continue;
          shape.count = count;
          try_alltoall(shape, algorithm, seeds());
        }
    });
}

TEST(Alltoall, LongBlocks) {
  std::uint32_t seed = 0;
  for (const Algorithm& algorithm : algorithms(CollectiveKind::alltoall))
    for (int run = 0; run < 4; ++run) {
      Shape shape = placed(2, 4, 2);
      shape.group = shape.leader = 2;
      shape.count = 1 << 14;
      try_alltoall(shape, algorithm, seed++);
    }
}

TEST(Alltoallv, CountsWithZerosAndBlocksWithHoles) {
  std::uint32_t seed = 0;
  for (const int ranks : numbers_of_ranks())
    for (const Algorithm& algorithm : algorithms(CollectiveKind::alltoallv))
      for (const std::size_t count : {0, 1, 7, 300})
        for (int run_number = 0; run_number < 8; ++run_number, ++seed) {
          Shape shape;
          shape.ranks = ranks;
          shape.count = count;
          shape.batch = 1 + run_number % 3;
          shape.in_place = run_number % 4 > 1;
          const Trial trial = alltoallv_trial(shape, seed);
          EXPECT_EQ(run(trial, trial.schedules(algorithm), seed), "") << ranks << ", seed " << seed;
        }
}

TEST(Alltoallv, NoPairForAZero) {
  Shape shape;
  shape.ranks = 3;
  shape.sends = {{0, 5}, {5, 0}, {5, 7}};
  shape.receives = {{0, 5}, {9, 1}, {5, 0}};
  const Schedule schedule = nonblocking_alltoallv(shape, 0);
  ASSERT_EQ(schedule.phases.size(), 1U);
  ASSERT_EQ(schedule.phases[0].sends.size(), 1U);
  EXPECT_EQ(schedule.phases[0].sends[0].peer, 2);
  ASSERT_EQ(schedule.phases[0].receives.size(), 1U);
  EXPECT_EQ(schedule.phases[0].receives[0].peer, 1);
}

using Sizes = std::vector<std::size_t>;

// The bytes of each message that a rank sends, sorted.
Sizes sizes_of_sends(const Schedule& schedule) {
  Sizes sizes;
  for (const Phase& phase : schedule.phases)
    for (const Send& send : phase.sends) sizes.push_back(send.region.bytes);
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

// A row of the table: messages to other groups and inside the group, and of what lengths.
struct Row {
  std::size_t leader, across, across_bytes, inside, inside_bytes;
};

Sizes sizes_in_table(const Row& row, bool leads, std::size_t line) {
  if (!leads) return {line};
  Sizes sizes(row.across, row.across_bytes);
  sizes.insert(sizes.end(), row.inside, row.inside_bytes);
  sizes.insert(sizes.end(), row.leader - 1, line);
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

void expect_row(const Shape& shape, std::string_view name, const Row& row) {
  const Algorithm& algorithm = *find_algorithm(CollectiveKind::alltoall, name);
  ASSERT_TRUE(algorithm.serves(shape).yes) << algorithm.serves(shape).why;
  const std::size_t line = shape.ranks * shape.bytes();
  std::size_t temporary = 0;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    const bool leads = shape.index[rank] % row.leader == 0;
    const Schedule schedule = algorithm.schedule(shape, rank);
    EXPECT_EQ(sizes_of_sends(schedule), sizes_in_table(row, leads, line))
        << name << " " << shape.ranks << " rank " << rank;
    temporary = std::max(temporary, schedule.temporary);
  }
  EXPECT_EQ(temporary, row.leader == 1 ? line : 2 * row.leader * line) << name;
}

// A block is as long as the unit of temporaries.
TEST(Alltoall, SendsAndTemporariesAsInTheTable) {
  for (const int ranks : numbers_of_ranks())
    each_placement(ranks, [](Shape shape) {
      shape.count = 64;
      const std::size_t s = shape.bytes(), n = shape.ranks, p = node_ranks(shape), N = n / p;
      const std::size_t g = shape.group, L = shape.leader, G = n / g;
      expect_row(shape, "hierarchical", {p, N - 1, p * p * s, 0, 0});
      expect_row(shape, "multileader", {L, n / L - 1, L * L * s, 0, 0});
      expect_row(shape, "node-aware", {1, N - 1, p * s, p - 1, N * s});
      expect_row(shape, "locality-aware", {1, G - 1, g * s, g - 1, G * s});
      expect_row(shape, "multileader-locality", {L, N - 1, p * L * s, p / L - 1, N * L * L * s});
    });
}

TEST(Alltoall, PairsSendABlockToEachOtherRank) {
  for (const int ranks : numbers_of_ranks())
    for (const int batch : {1, 2, 5})
      for (const std::string_view name : {"pairwise", "nonblocking"}) {
        Shape shape;
        shape.ranks = ranks;
        shape.batch = batch;
        shape.count = 64;
        const Algorithm& algorithm = *find_algorithm(CollectiveKind::alltoall, name);
        const Schedule schedule = algorithm.schedule(shape, ranks / 2);
        EXPECT_EQ(sizes_of_sends(schedule), Sizes(ranks - 1, 64));
        EXPECT_EQ(schedule.temporary, 0U);
        for (const Phase& phase : schedule.phases)
          EXPECT_LE(static_cast<int>(phase.sends.size()), name == "pairwise" ? batch : ranks);
      }
}

// Where ranks lie node after node, or go around the nodes, no list of copies is needed.
TEST(Alltoall, UsualPlacementsTakeFewLocalSteps) {
  for (const int kind : {0, 1}) {
    Shape shape = placed(4, 6, kind);
    shape.count = 7;
    shape.leader = 3;
    for (const Algorithm& algorithm : algorithms(CollectiveKind::alltoall)) {
      std::size_t steps = 0;
      for (const Phase& phase : algorithm.schedule(shape, 0).phases) steps += phase.steps.size();
      EXPECT_LE(steps, 8U) << algorithm.name << " " << kind;
    }
  }
}

}  // namespace
}  // namespace penstock::coll
