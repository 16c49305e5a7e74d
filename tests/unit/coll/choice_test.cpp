// SPDX-License-Identifier: Apache-2.0
// Which algorithm serves which ranks, and in how few steps blocks are brought into another order.
#include <gtest/gtest.h>

#include "coll/algorithms.hpp"
#include "coll/rearrange.hpp"
#include "unit/coll/trial.hpp"

namespace penstock::coll {
namespace {

base::Verdict served(CollectiveKind collective, std::string_view name, const Shape& shape) {
  return find_algorithm(collective, name)->serves(shape);
}

TEST(Algorithms, HaveTheNamesThatTheyAreFoundBy) {
  EXPECT_EQ(find_algorithm(CollectiveKind::alltoall, "locality-aware")->name, "locality-aware");
  EXPECT_EQ(find_algorithm(CollectiveKind::bcast, "nonsense"), nullptr);
  EXPECT_EQ(find_algorithm(CollectiveKind::bcast, ""), nullptr);
}

TEST(Algorithms, OfNodesDoNotServeUnequalOnes) {
  Shape shape;
  shape.ranks = 5;
  shape.node = {0, 0, 0, 1, 1};
  shape.index = {0, 1, 2, 0, 1};
  for (const std::string_view name :
       {"hierarchical", "multileader", "node-aware", "locality-aware", "multileader-locality"})
    EXPECT_EQ(served(CollectiveKind::alltoall, name, shape).why,
              "the nodes have from 2 to 3 ranks");
  EXPECT_FALSE(served(CollectiveKind::allreduce, "lanes", shape).yes);
  EXPECT_EQ(served(CollectiveKind::alltoall, "node-aware", {}).why, "nobody knows the nodes");
}

TEST(Algorithms, OfGroupsAndLeadersDoNotServeWhatTheseDoNotDivide) {
  Shape shape = placed(2, 4, 0);
  shape.group = shape.leader = 3;
  EXPECT_EQ(served(CollectiveKind::alltoall, "locality-aware", shape).why,
            "groups of 3 do not divide the 4 of a node");
  EXPECT_FALSE(served(CollectiveKind::alltoall, "multileader", shape).yes);
  EXPECT_TRUE(served(CollectiveKind::alltoall, "node-aware", shape).yes);
  shape.group = 2;
  EXPECT_TRUE(served(CollectiveKind::alltoall, "locality-aware", shape).yes);
}

std::vector<LocalStep> steps_for(const BlockOrder& order) {
  ScheduleBuilder builder;
  rearrange(builder, {Buffer::input, 0, order.size()}, output(order.size()), order);
  return builder.finish().phases[0].steps;
}

TEST(Rearrange, TakesAsFewStepsAsItFinds) {
  const auto same = steps_for({0, 1, 2, 3});
  ASSERT_EQ(same.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<Copy>(same[0]));
  const auto turned = steps_for({0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11});
  ASSERT_EQ(turned.size(), 1U);
  const Permute& permute = std::get<Permute>(turned[0]);
  EXPECT_EQ(permute.rows, 3U);
  EXPECT_EQ(permute.columns, 2U);
  EXPECT_EQ(permute.run(), 2U);
  const auto inside = steps_for({0, 2, 1, 3, 4, 6, 5, 7});
  ASSERT_EQ(inside.size(), 2U);
  EXPECT_EQ(std::get<Permute>(inside[1]).from.offset, 4U);
  EXPECT_EQ(steps_for({3, 4, 1, 0, 2}).size(), 4U);
}

}  // namespace
}  // namespace penstock::coll
