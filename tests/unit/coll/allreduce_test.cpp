// SPDX-License-Identifier: Apache-2.0
// Values whose combination differs with their order: each algorithm gives the bits of its own
// order, on all ranks and in every run.
#include "coll/allreduce.hpp"

#include <gtest/gtest.h>

#include <bit>

#include "unit/coll/numbers_of_ranks.hpp"
#include "unit/coll/trial.hpp"

namespace penstock::coll {
namespace {

// By index on each node, then over the nodes.
template <Reference of_lane>
float by_lanes(const Shape& shape, const std::vector<float>& values) {
  const std::vector<int> order = node_order(shape);
  const int each = node_ranks(shape);
  std::vector<float> nodes;
  for (int position = 0; position < shape.ranks; ++position)
    if (position % each == 0)
      nodes.push_back(values[order[position]]);
    else
      nodes.back() = combined(nodes.back(), values[order[position]]);
  return of_lane(shape, nodes);
}

Reference reference_of(std::string_view name) {
  if (name == "doubling") return by_doubling;
  if (name == "lanes") return by_lanes<by_rank>;
  if (name == "lanes-doubling") return by_lanes<by_doubling>;
  return by_rank;
}

void try_allreduce(const Shape& shape, const Algorithm& algorithm) {
  const Trial trial = allreduce_trial(shape, reference_of(algorithm.name));
  for (std::uint32_t seed = 0; seed < 2; ++seed)
    EXPECT_EQ(run(trial, trial.schedules(algorithm), seed), "")
        << algorithm.name << " " << shape.ranks << " ranks of " << node_ranks(shape) << ", count "
        << shape.count << ", in place " << shape.in_place << ", seed " << seed;
}

TEST(Allreduce, EveryAlgorithmHasTheBitsOfItsOrder) {
  for (const int ranks : numbers_of_ranks())
    for (const int nodes : divisors(ranks))
      for (int kind = 0; kind < 3; ++kind)
        for (const std::size_t count : {0, 1, 7, 100})
          for (const Algorithm& algorithm : algorithms(CollectiveKind::allreduce)) {
            Shape shape = placed(nodes, ranks / nodes, kind);
            shape.element = sizeof(float);
            shape.count = count;
            shape.in_place = (kind + nodes) % 2 == 0;
            try_allreduce(shape, algorithm);
          }
}

TEST(Allreduce, ManyElements) {
  for (const bool in_place : {false, true})
    for (const Algorithm& algorithm : algorithms(CollectiveKind::allreduce)) {
      Shape shape = placed(3, 2, 2);
      shape.element = sizeof(float);
      shape.count = (1 << 14) + 7;
      shape.in_place = in_place;
      try_allreduce(shape, algorithm);
    }
}

TEST(Allreduce, TheOrdersDifferInTheirBits) {
  const Shape shape = placed(2, 3, 1);
  const auto results = [&](Reference reference) {
    Shape many = shape;
    many.element = sizeof(float);
    many.count = 100;
    return allreduce_trial(many, reference).after[0][Buffer::output];
  };
  EXPECT_NE(results(by_rank), results(by_doubling));
  EXPECT_NE(results(by_rank), results(by_lanes<by_rank>));
}

TEST(ReduceScatterBlock, InRankOrder) {
  for (const int ranks : numbers_of_ranks())
    for (const std::size_t count : {0, 1, 7, 100})
      for (const bool in_place : {false, true})
        for (std::uint32_t seed = 0; seed < 4; ++seed) {
          Shape shape;
          shape.ranks = ranks;
          shape.element = sizeof(float);
          shape.count = count;
          shape.in_place = in_place;
          const Trial trial = reduce_scatter_trial(shape);
          const Algorithm& algorithm = algorithms(CollectiveKind::reduce_scatter_block)[0];
          EXPECT_EQ(run(trial, trial.schedules(algorithm), seed), "") << ranks << " " << count;
        }
}

struct Sent {
  std::size_t inside = 0, between = 0;  // bytes to ranks of the own node, and to others
  std::size_t messages = 0;
};

Sent sent_by(const Shape& shape, int rank, const Schedule& schedule) {
  Sent sent;
  for (const Phase& phase : schedule.phases)
    for (const Send& send : phase.sends) {
      (shape.node[send.peer] == shape.node[rank] ? sent.inside : sent.between) += send.region.bytes;
      ++sent.messages;
    }
  return sent;
}

// As many elements as all sizes divide.
TEST(Allreduce, SendsAndTemporariesAsInTheTable) {
  for (const int ranks : numbers_of_ranks())
    for (const int nodes : divisors(ranks)) {
      Shape shape = placed(nodes, ranks / nodes, 2);
      shape.element = sizeof(float);
      shape.count = 16U * ranks;
      const std::size_t S = shape.bytes(), n = ranks, N = nodes, p = n / N;
      for (int rank = 0; rank < ranks; ++rank) {
        const Schedule two_shot = two_shot_allreduce(shape, rank);
        const Sent flat = sent_by(shape, rank, two_shot);
        EXPECT_EQ(flat.inside + flat.between, 2 * (n - 1) * S / n);
        EXPECT_EQ(flat.messages, 2 * (n - 1));
        EXPECT_EQ(two_shot.temporary, (n - 1) * S / n);
        const Schedule lanes = lanes_allreduce(shape, rank);
        const Sent by_lane = sent_by(shape, rank, lanes);
        EXPECT_EQ(by_lane.inside, 2 * (p - 1) * S / p);
        EXPECT_EQ(by_lane.between, 2 * (N - 1) * S / n);
        EXPECT_EQ(by_lane.messages, 2 * (p - 1) + 2 * (N - 1));
        EXPECT_LE(lanes.temporary, S);
        EXPECT_LE(lanes_doubling_allreduce(shape, rank).temporary, S);
      }
    }
}

TEST(Allreduce, DoublingSendsAllOnceARound) {
  for (const int ranks : numbers_of_ranks()) {
    Shape shape;
    shape.ranks = ranks;
    shape.element = sizeof(float);
    shape.count = 16;
    const std::size_t rounds = std::bit_width(static_cast<unsigned>(ranks)) - 1U;
    const std::size_t surplus = ranks - std::bit_floor(static_cast<unsigned>(ranks));
    shape.node.assign(ranks, 0);
    for (int rank = 0; rank < ranks; ++rank) {
      const Schedule schedule = doubling_allreduce(shape, rank);
      const bool folds = static_cast<std::size_t>(rank) < 2 * surplus;
      const std::size_t messages = !folds ? rounds : rank % 2 == 0 ? 1 : rounds + 1;
      EXPECT_EQ(sent_by(shape, rank, schedule).messages, messages);
      EXPECT_EQ(sent_by(shape, rank, schedule).inside, messages * shape.bytes());
      EXPECT_LE(schedule.temporary, shape.bytes());
    }
  }
}

}  // namespace
}  // namespace penstock::coll
