// SPDX-License-Identifier: Apache-2.0
// Matches of many ranks in one process, small enough for every day: the large ones are those of
// the program scale_program.
#include <gtest/gtest.h>

#include "scale/simulation.hpp"
#include "scale/tables.hpp"

namespace penstock::scale {
namespace {

Report run(const Options& options) {
  Simulation simulation(options);
  return simulation.run();
}

std::uint64_t letters(const Report& report, core::LetterKind kind) {
  return report.letters.letters[static_cast<std::size_t>(kind)];
}

TEST(Scale, OneRankIsItsOwnNeighbour) {
  const Report report = run({.ranks = 1});
  EXPECT_EQ(report.matched, 52u);
}

// Three letters a pair, whatever the number of ranks.
TEST(Scale, NeighboursTakeThreeLettersAPair) {
  for (const int ranks : {64, 512}) {
    const Report report = run({.ranks = ranks});
    const auto pairs = static_cast<std::uint64_t>(ranks) * 26;
    EXPECT_EQ(report.matched, 2 * pairs);
    EXPECT_EQ(letters(report, core::LetterKind::offer), pairs);
    EXPECT_EQ(letters(report, core::LetterKind::answer), pairs);
    EXPECT_EQ(letters(report, core::LetterKind::confirm), pairs);
    EXPECT_EQ(report.all_letters(), 3 * pairs);
    EXPECT_EQ(report.most_neighbours, 26);
  }
}

TEST(Scale, RandomGraphs) {
  for (std::uint32_t seed = 1; seed <= 3; ++seed)
    EXPECT_EQ(run({.ranks = 100, .graph = Graph::random, .seed = seed}).failed, 0u);
}

TEST(Scale, Wildcards) {
  EXPECT_EQ(run({.ranks = 64, .wildcards = true}).failed, 0u);
  EXPECT_EQ(run({.ranks = 128, .graph = Graph::random, .wildcards = true}).failed, 0u);
}

TEST(Scale, RanksThatLeaveInvitations) {
  const Report report = run({.ranks = 64, .leaves = true});
  EXPECT_EQ(report.failed, 0u);
  EXPECT_GT(letters(report, core::LetterKind::invite), 0u);
}

// All others come through, and nobody waits for the dead.
TEST(Scale, ADeadRank) {
  for (const bool collective : {false, true}) {
    const Report report = run({.ranks = 216, .collective = collective, .dead = 1});
    EXPECT_GT(report.failed, 0u);
    EXPECT_LE(report.failed, 52u + (collective ? 215u : 0u));
  }
}

TEST(Scale, ACollectiveOfAll) {
  const Report report = run({.ranks = 216, .collective = true});
  EXPECT_EQ(letters(report, core::LetterKind::join), 216u);
  EXPECT_EQ(letters(report, core::LetterKind::verdict), 216u);
  EXPECT_EQ(report.failed, 0u);
}

// A rank that reads late takes few letters, and the others keep theirs.
TEST(Scale, LettersThatAreNotTaken) {
  for (const std::size_t places : {1u, 3u}) {
    PostOptions post;
    post.places = places;
    for (const Graph graph : {Graph::star, Graph::neighbours}) {
      const Report report = run({.ranks = 64, .graph = graph, .post = post});
      EXPECT_EQ(report.failed, 0u);
      EXPECT_GT(report.matched, 0u);
    }
  }
}

TEST(Scale, AllWithOne) {
  EXPECT_EQ(run({.ranks = 512, .graph = Graph::star, .wildcards = true}).failed, 0u);
}

// The bound of docs/scale.md.
TEST(Scale, WhatIsKeptOfEveryRankIsSmall) {
  double bytes = 0;
  for (const Table& table : tables()) bytes += table.bytes;
  EXPECT_GT(bytes, 0);
  EXPECT_LE(bytes, 256);
}

}  // namespace
}  // namespace penstock::scale
