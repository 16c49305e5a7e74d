// SPDX-License-Identifier: Apache-2.0
// Which algorithm member 0 selects, with which width, and what the log says of the others.
#include "coll/selection.hpp"

#include <gtest/gtest.h>

#include <string>

#include "base/error.hpp"
#include "coll/widths.hpp"
#include "unit/coll/trial.hpp"

namespace penstock::coll {
namespace {

Situation alltoall(int nodes, int node_ranks, int most_groups = 4) {
  Situation situation{.collective = CollectiveKind::alltoall,
                      .shape = placed(nodes, node_ranks, 0),
                      .on_gpu = false,
                      .direct = base::refused("rank 1: a test"),
                      .direct_name = "direct",
                      .direct_is_fastest = true};
  situation.shape.count = 8;
  give_widths(situation.shape, most_groups);
  return situation;
}

std::string name_of(const Selection& selection) {
  return selection.algorithm != nullptr ? std::string(selection.algorithm->name) : "directly";
}

TEST(Selection, WhatIsForcedComesBeforeWhatIsTuned) {
  const Situation situation = alltoall(2, 4);
  EXPECT_EQ(name_of(select(situation, "node-aware", "pairwise")), "node-aware");
  EXPECT_EQ(name_of(select(situation, "", "pairwise")), "pairwise");
  EXPECT_EQ(name_of(select(situation, "", "")), "hierarchical");
}

TEST(Selection, WhatGoesBetweenNodesIsGathered) {
  EXPECT_EQ(name_of(select(alltoall(1, 4), "", "")), "nonblocking");
  EXPECT_EQ(name_of(select(alltoall(4, 1), "", "")), "nonblocking");
  EXPECT_EQ(name_of(select(alltoall(2, 16), "", "")), "pairwise");
  Situation situation = alltoall(2, 4);
  situation.shape.count = (64 << 10) + 1;
  EXPECT_EQ(name_of(select(situation, "", "")), "nonblocking");
  situation.collective = CollectiveKind::allreduce;
  EXPECT_EQ(name_of(select(situation, "", "")), "lanes");
  situation.shape.node = {0, 0, 0, 0, 0, 1, 1, 1};
  EXPECT_EQ(name_of(select(situation, "", "")), "two-shot");
}

TEST(Selection, AWishHasItsWidth) {
  const Situation situation = alltoall(2, 8);
  EXPECT_EQ(select(situation, "multileader:4", "").shape.leader, 4);
  EXPECT_EQ(select(situation, "locality-aware:8", "").shape.group, 8);
  EXPECT_EQ(select(situation, "", "pairwise:3").shape.batch, 3);
  EXPECT_EQ(select(situation, "multileader", "").shape.leader, 2);
}

void expect_refused(const Situation& situation, const char* forced, const char* words) {
  try {
    select(situation, forced, "");
    ADD_FAILURE() << forced;
  } catch (const base::Error& error) {
    EXPECT_EQ(error.kind(), base::ErrorKind::unsupported);
    EXPECT_NE(error.text().find(words), std::string::npos) << error.text();
  }
}

TEST(Selection, WhatIsForcedAndDoesNotServeIsRefused) {
  const Situation situation = alltoall(2, 4);
  expect_refused(situation, "direct", "algorithm direct: rank 1: a test; there is pairwise, ");
  expect_refused(situation, "doubling", "alltoall has no algorithm 'doubling'; there is pairwise");
  expect_refused(situation, "multileader:3", "leaders' ranks of 3 do not divide the 4 of a node");
  expect_refused(situation, "multileader:-1", "no whole number of ranks from 1 on");
  expect_refused(situation, "multileader:2x", "no whole number of ranks from 1 on");
  expect_refused(situation, "multileader:", "no whole number of ranks from 1 on");
  expect_refused(situation, "direct:2", "direct has no width");
}

// A file may have been written elsewhere: what cannot serve here is no error.
TEST(Selection, WhatIsTunedAndDoesNotServeGivesWayToTheRule) {
  const Situation situation = alltoall(2, 4);
  for (const char* const tuned : {"multileader:3", "direct"}) {
    const Selection selection = select(situation, "", tuned);
    EXPECT_EQ(name_of(selection), "hierarchical");
    EXPECT_NE(selection.because.find(std::string(tuned) + " of PENSTOCK_TUNE does not serve"),
              std::string::npos);
  }
}

// That all members can exchange directly, for a file, does not say that they expect to gain by it.
TEST(Selection, TheRuleExchangesDirectlyWhereAllExpectToGain) {
  Situation situation = alltoall(1, 2);
  situation.direct = base::accepted();
  EXPECT_EQ(name_of(select(situation, "", "")), "directly");
  situation.direct_is_fastest = false;
  EXPECT_EQ(name_of(select(situation, "", "")), "nonblocking");
  EXPECT_EQ(name_of(select(situation, "", "direct")), "directly");
}

TEST(Selection, ManyBytesAreCombinedInTwoShots) {
  const auto name = [](int nodes, int node_ranks, std::size_t bytes) {
    Situation situation{.collective = CollectiveKind::allreduce,
                        .shape = placed(nodes, node_ranks, 0),
                        .direct = base::refused("a test")};
    situation.shape.element = 8;
    situation.shape.count = bytes / 8;
    return name_of(select(situation, "", ""));
  };
  EXPECT_EQ(name(1, 2, 2048), "doubling");
  EXPECT_EQ(name(1, 2, 4096), "two-shot");
  EXPECT_EQ(name(1, 4, 4096), "doubling");
  EXPECT_EQ(name(1, 4, 8192), "two-shot");
  EXPECT_EQ(name(2, 1, 16384), "doubling");  // each phase goes between hosts
  EXPECT_EQ(name(2, 1, 32768), "two-shot");
}

// What the ranks have prepared themselves for is what can be had.
TEST(Selection, ATunedFormThatTheRanksDoNotOfferGivesWayToTheRule) {
  Situation situation = alltoall(1, 2);
  situation.direct = base::accepted();
  situation.direct_is_fastest = false;
  EXPECT_EQ(name_of(select(situation, "", "put-lock")), "nonblocking");
  situation.direct_name = "put-lock";
  EXPECT_EQ(name_of(select(situation, "", "put-lock")), "directly");
  EXPECT_EQ(name_of(select(situation, "", "")), "nonblocking");
}

TEST(Selection, TheLogSaysWhatServesAndWhyNotTheRest) {
  Situation situation = alltoall(1, 1);
  situation.shape.ranks = 3;
  situation.shape.node = {0, 0, 1};
  situation.shape.index = {0, 1, 0};
  const std::string line = describe(select(situation, "", ""), situation);
  EXPECT_EQ(line.find("nonblocking, by the built-in rule; also served by pairwise:1; not "
                      "hierarchical (the nodes have from 1 to 2 ranks); not multileader:1 ("),
            0U)
      << line;
  EXPECT_NE(line.find("; not direct (rank 1: a test)"), std::string::npos) << line;
}

struct Widths {
  int node_ranks, most_groups, ranks_of_group;
};

// As many groups as divide a node's ranks, with two at least for each.
TEST(Selection, GroupsAndLeadersAreAsManyAsANodeAllows) {
  for (const Widths& each : {Widths{1, 4, 1},
                             {2, 4, 2},
                             {3, 4, 3},
                             {4, 4, 2},
                             {6, 4, 2},
                             {7, 4, 7},
                             {8, 4, 2},
                             {12, 4, 3},
                             {16, 4, 4},
                             {10, 4, 5},
                             {16, 1, 16},
                             {16, 1024, 2},
                             {4, 1, 4}}) {
    const Shape shape = alltoall(2, each.node_ranks, each.most_groups).shape;
    EXPECT_EQ(shape.group, each.ranks_of_group) << each.node_ranks;
    EXPECT_EQ(shape.leader, each.ranks_of_group) << each.node_ranks;
  }
  Situation uneven = alltoall(1, 1);
  uneven.shape.ranks = 3;
  uneven.shape.node = {0, 0, 1};
  give_widths(uneven.shape, 4);
  EXPECT_EQ(uneven.shape.leader, 1);
}

TEST(Selection, ManyRanksHaveABatch) {
  EXPECT_EQ(alltoall(1, few_ranks).shape.batch, 1);
  EXPECT_EQ(alltoall(1, few_ranks + 1).shape.batch, few_ranks);
}

}  // namespace
}  // namespace penstock::coll
