// SPDX-License-Identifier: Apache-2.0
// Comb without messages: the ghosts of every rank are filled from their neighbours' zones by hand.
// Values are numbered here as kernels number them.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include "comb/cases.hpp"
#include "comb/cycle.hpp"
#include "comb/datatypes.hpp"
#include "comb/decomposition.hpp"
#include "support/session.hpp"

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
  std::vector<apps::Neighbour> neighbours;
  std::vector<double> values;
};

void fill(Rank& rank, int cycle) {
  rank.for_each_value([&](double& value, const int(&at)[3], int variable) {
    value = value_before(rank.mesh, at, variable, cycle);
  });
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
  for (const apps::Neighbour& neighbour : rank.neighbours) {
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
  const std::vector<apps::Neighbour> neighbours = neighbours_of({{1, 1, 1}}, 0);
  ASSERT_EQ(neighbours.size(), 26u);
  for (const apps::Neighbour& neighbour : neighbours) {
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

std::vector<double> packed_by_mpi(const Rank& rank, const apps::Subarray& part, std::size_t count) {
  std::vector<double> message(count);
  int at = 0;
  const int bytes = static_cast<int>(count * sizeof(double));
  MPI_Pack(rank.values.data(), 1, part.type(), message.data(), bytes, &at, MPI_COMM_SELF);
  EXPECT_EQ(at, bytes);
  return message;
}

TEST(Mesh, DatatypesHoldWhatKernelsPack) {
  const Problem problem{{1, 1, 1}, {5, 4, 3}, {2, 1, 3}, {1, 1, 1}, 2};
  Rank rank(problem, 0);
  for (std::size_t i = 0; i < rank.values.size(); ++i) rank.values[i] = static_cast<double>(i);
  const auto messages = messages_in_place(rank.mesh, rank.values.data(), rank.neighbours);
  ASSERT_EQ(messages.sent.size(), 26u);
  for (std::size_t i = 0; i < rank.neighbours.size(); ++i) {
    const apps::Neighbour& neighbour = rank.neighbours[i];
    const auto sent = packed_by_mpi(rank, messages.sent[i], neighbour.values);
    const auto received = packed_by_mpi(rank, messages.received[i], neighbour.values);
    for (unsigned j = 0; j < neighbour.values; ++j) {
      EXPECT_EQ(sent[j], place_in(rank.mesh, sent_box(rank.mesh, neighbour.direction), j));
      EXPECT_EQ(received[j], place_in(rank.mesh, ghost_box(rank.mesh, neighbour.direction), j));
    }
  }
}

TEST(Groups, MessagesFromTheCutoffOnStandAlone) {
  const auto neighbours = neighbours_of({{1, 1, 1}}, 0);  // 6 of 30000 values, 12 of 300, 8 of 3
  const auto expect = [&](std::optional<std::size_t> cutoff, std::size_t groups, int in_largest) {
    const std::vector<Group> all = groups_of(neighbours, cutoff);
    ASSERT_EQ(all.size(), groups);
    Group every = 0;
    int largest = 0;
    for (const Group group : all) {
      EXPECT_EQ(every & group, 0u);
      every |= group;
      largest = std::max(largest, std::popcount(group));
    }
    EXPECT_EQ(std::popcount(every), 26);
    EXPECT_EQ(largest, in_largest);
  };
  expect(std::nullopt, 1, 26);
  expect(0, 26, 1);
  expect(300, 19, 8);
  expect(301, 7, 20);
  expect(30001, 1, 26);
  EXPECT_TRUE(groups_of({}, 0).empty());
}

std::vector<std::string> names_of(const std::vector<Case>& cases) {
  std::vector<std::string> names;
  for (const Case& one : cases) names.push_back(one.name());
  return names;
}

TEST(Cases, StandOnceForWhatMakesADifference) {
  using apps::Comm;
  using Names = std::vector<std::string>;
  EXPECT_EQ(names_of(cases_of({Comm::mpi, Comm::graph}, false, {})),
            (Names{"mock", "mpi", "graph"}));
  EXPECT_EQ(names_of(cases_of({Comm::mpi_waitany, Comm::mpi_datatype, Comm::stream}, true, {})),
            (Names{"mock", "mock-pinned", "mpi-waitany", "mpi-waitany-pinned", "mpi-datatype",
                   "stream"}));
  EXPECT_EQ(
      names_of(cases_of({Comm::mpi_waitany, Comm::mpi_persistent}, false, {3, 9, 3})),
      (Names{"mock", "mock/3", "mock/9", "mpi-waitany", "mpi-persistent/3", "mpi-persistent/9"}));
  const auto both = cases_of({Comm::mpi}, true, {3});
  EXPECT_EQ(names_of(both), (Names{"mock/3", "mock-pinned/3", "mpi/3", "mpi-pinned/3"}));
  EXPECT_EQ(both[3].floor(), both[1]);
}

TEST(Mesh, WhatDoesNotFitIsRefused) {
  EXPECT_THROW(settled({{2, 2, 1}}, 3), tool::UserError);
  EXPECT_THROW(settled({{1, 1, 1}, {3, 3, 3}, {1, 4, 1}}, 1), tool::UserError);
  EXPECT_THROW(settled({{1, 1, 1}, {2000, 2000, 2000}}, 1), tool::UserError);
  EXPECT_EQ(settled({}, 4).ranks[0], 2);
}

}  // namespace
}  // namespace penstock::comb
