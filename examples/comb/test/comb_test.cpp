// SPDX-License-Identifier: Apache-2.0
// Comb without messages: the ghosts of every rank are filled from their neighbours' zones by hand. Values are numbered
// here as kernels number them.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "comb/decomposition.hpp"
#include "session.hpp"

namespace penstock::comb {
namespace {

struct Rank {
  Rank(const Problem& problem, int rank)
      : mesh(mesh_of(problem, rank)),
        neighbours(neighbours_of(problem, rank)),
        values(mesh.volume() * static_cast<std::size_t>(mesh.variables)) {}

  template <class Use>
  void for_each_value(Use&& use) {
    const Box everything{{0, 0, 0}, {mesh.extent(0), mesh.extent(1), mesh.extent(2)}};
    for (unsigned i = 0; i < values.size(); ++i) {
      int at[3];
      everything.at(i % everything.size(), at);
      use(values[i], at, static_cast<int>(i / everything.size()));
    }
  }

  Mesh mesh;
  std::vector<examples::Neighbour> neighbours;
  std::vector<double> values;
};

void fill(Rank& rank, int cycle) {
  rank.for_each_value(
      [&](double& value, const int(&at)[3], int variable) { value = value_before(rank.mesh, at, variable, cycle); });
}

int count_wrong(Rank& rank, int cycle, bool with_messages) {
  int wrong = 0;
  rank.for_each_value([&](double& value, const int(&at)[3], int variable) {
    wrong += value != value_after(rank.mesh, at, variable, cycle, with_messages) ? 1 : 0;
  });
  return wrong;
}

// What the neighbour in a direction sends the opposite way.
void take_ghosts(Rank& rank, const std::vector<Rank>& ranks) {
  for (const examples::Neighbour& neighbour : rank.neighbours) {
    const Rank& other = ranks[static_cast<std::size_t>(neighbour.rank)];
    const Box from = sent_box(other.mesh, opposite(neighbour.direction));
    const Box to = ghost_box(rank.mesh, neighbour.direction);
    ASSERT_EQ(from.size() * static_cast<unsigned>(rank.mesh.variables), neighbour.values);
    for (unsigned i = 0; i < neighbour.values; ++i)
      rank.values[place_in(rank.mesh, to, i)] = other.values[place_in(other.mesh, from, i)];
  }
}

void expect_right(const Problem& problem) {
  std::vector<Rank> ranks;
  for (int rank = 0; rank < problem.ranks[0] * problem.ranks[1] * problem.ranks[2]; ++rank)
    ranks.emplace_back(problem, rank);
  for (Rank& rank : ranks) fill(rank, 4);
  for (Rank& rank : ranks) take_ghosts(rank, ranks);
  for (Rank& rank : ranks) EXPECT_EQ(count_wrong(rank, 4, true), 0);
}

TEST(Mesh, GhostsOfAnyDecompositionAreTheirImages) {
  for (const Triple& ranks : {Triple{1, 1, 1}, {2, 1, 1}, {1, 3, 2}, {2, 2, 2}})
    for (const Triple& ghosts : {Triple{1, 1, 1}, {2, 0, 3}, {0, 0, 1}})
      for (const Triple& periodic : {Triple{1, 1, 1}, {0, 1, 0}, {0, 0, 0}})
        expect_right({ranks, {5, 4, 3}, ghosts, periodic, 2});
}

TEST(Mesh, MessagesHaveThePublishedSizes) {
  const std::vector<examples::Neighbour> neighbours = neighbours_of({{1, 1, 1}}, 0);
  ASSERT_EQ(neighbours.size(), 26u);
  for (const examples::Neighbour& neighbour : neighbours) {
    int parts = 0;
    for (int d = 0; d < 3; ++d) parts += part_of(neighbour.direction, d) != 0 ? 1 : 0;
    EXPECT_EQ(neighbour.values * sizeof(double), parts == 1 ? 240000u : parts == 2 ? 2400u : 24u);
  }
}

TEST(Mesh, StaleMissingAndMisplacedValuesAreFound) {
  const Problem problem{{1, 1, 1}, {4, 4, 4}, {1, 1, 1}, {1, 1, 1}, 2};
  std::vector<Rank> ranks;
  ranks.emplace_back(problem, 0);
  Rank& rank = ranks.front();
  fill(rank, 7);
  const int ghosts = 2 * (6 * 6 * 6 - 4 * 4 * 4);
  EXPECT_EQ(count_wrong(rank, 7, true), ghosts);   // nothing has come
  EXPECT_EQ(count_wrong(rank, 7, false), ghosts);  // and nothing was unpacked
  take_ghosts(rank, ranks);
  EXPECT_EQ(count_wrong(rank, 7, true), 0);
  EXPECT_EQ(count_wrong(rank, 8, true), static_cast<int>(rank.values.size()));  // of another cycle
  std::swap(rank.values[0], rank.values[1]);
  EXPECT_EQ(count_wrong(rank, 7, true), 2);
}

TEST(Mesh, WhatDoesNotFitIsRefused) {
  EXPECT_THROW(settled({{2, 2, 1}}, 3), tool::UserError);
  EXPECT_THROW(settled({{1, 1, 1}, {3, 3, 3}, {1, 4, 1}}, 1), tool::UserError);
  EXPECT_THROW(settled({{1, 1, 1}, {2000, 2000, 2000}}, 1), tool::UserError);
  EXPECT_EQ(settled({}, 4).ranks[0], 2);
}

}  // namespace
}  // namespace penstock::comb
