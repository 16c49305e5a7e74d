// SPDX-License-Identifier: Apache-2.0
// Faces without messages: the reference against sums over all copies, and blocks whose sides are
// copied by hand against the reference. Points are numbered here as kernels number them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <vector>

#include "faces/datatypes.hpp"
#include "faces/geometry.hpp"
#include "faces/rank_grid.hpp"
#include "faces/reference.hpp"
#include "support/session.hpp"

namespace penstock::faces {
namespace {

struct Rank {
  Rank(const Problem& problem, int rank)
      : grid(problem, rank), u(layout_of(grid.block(), nowhere).size()) {
    for (const int direction : grid.neighbours()) {
      const auto index = static_cast<std::size_t>(direction);
      out[index].resize(layout_of(grid.block(), direction).size());
      in[index].resize(out[index].size());
      received.side[direction] = in[index].data();
      outgoing.side[direction] = out[index].data();
    }
    const Layout layout = layout_of(grid.block(), nowhere);
    for (unsigned i = 0; i < u.size(); ++i) u[i] = initial_value(grid.block(), layout.place(i));
  }

  void pack() {
    const Block& block = grid.block();
    for (const int direction : grid.neighbours()) {
      std::vector<double>& message = out[static_cast<std::size_t>(direction)];
      const Layout layout = layout_of(block, direction);
      for (unsigned i = 0; i < message.size(); ++i)
        message[i] =
            u[layout_of(block, nowhere).offset(on_side(block, direction, layout.place(i)))];
    }
  }

  void sum_inside() {
    const Block& block = grid.block();
    for (int z = 0; z < block.elements[2]; ++z)
      for (int y = 0; y < block.elements[1]; ++y)
        for (int x = 0; x < block.elements[0]; ++x) sum_upper_sides(block, u.data(), {x, y, z});
  }

  void unpack_region(int direction, const Sides& next) {
    const Block& block = grid.block();
    const Box region = region_of(block, direction);
    for (unsigned i = 0; i < region.size(); ++i) {
      int at[3];
      region.at(i, at);
      complete(block, u.data(), received, next, direction, place_of(block, at));
    }
  }

  void unpack(const Sides& next) {
    for (const int direction : grid.neighbours()) unpack_region(direction, next);
  }

  void forget_packed() {
    for (std::vector<double>& message : out) std::fill(message.begin(), message.end(), none);
  }

  static constexpr double none = std::numeric_limits<double>::quiet_NaN();
  RankGrid grid;
  std::vector<double> u;
  std::array<std::vector<double>, directions> out;
  std::array<std::vector<double>, directions> in;
  Sides received{};
  Sides outgoing{};
};

// What is not equal bit by bit, a number that is none included, is counted.
std::size_t differences(const std::vector<double>& some, const std::vector<double>& others) {
  EXPECT_EQ(some.size(), others.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < std::min(some.size(), others.size()); ++i)
    count += some[i] == others[i] ? 0 : 1;
  return count;
}

// Packed once, then on the way; or anew in each share.
enum class Packing { apart, ahead };

void deliver(std::vector<Rank>& ranks) {
  for (Rank& rank : ranks)
    for (const int direction : rank.grid.neighbours()) {
      const Rank& other = ranks[static_cast<std::size_t>(rank.grid.rank_at(direction))];
      const std::vector<double>& message = other.out[static_cast<std::size_t>(opposite(direction))];
      std::vector<double>& to = rank.in[static_cast<std::size_t>(direction)];
      ASSERT_EQ(message.size(), to.size());
      std::copy(message.begin(), message.end(), to.begin());
    }
}

// The sums inside stand last where they may: they run beside the packing for the next share.
void share(std::vector<Rank>& ranks, bool is_first, bool with_compute, Packing packing) {
  for (Rank& rank : ranks)
    if (is_first || packing == Packing::apart) rank.pack();
  deliver(ranks);
  for (Rank& rank : ranks) {
    if (with_compute && packing == Packing::apart) rank.sum_inside();
    rank.forget_packed();
    rank.unpack(packing == Packing::ahead ? rank.outgoing : Sides{});
    if (with_compute && packing == Packing::ahead) rank.sum_inside();
  }
}

std::vector<Rank> make_ranks(const Problem& problem) {
  const int count = problem.ranks[0] * problem.ranks[1] * problem.ranks[2];
  std::vector<Rank> ranks;
  ranks.reserve(static_cast<std::size_t>(count));  // messages are pointed to
  for (int rank = 0; rank < count; ++rank) ranks.emplace_back(problem, rank);
  return ranks;
}

void expect_reference(const Problem& problem, int shares, bool with_compute, Packing packing) {
  std::vector<Rank> ranks = make_ranks(problem);
  for (int i = 0; i < shares; ++i) share(ranks, i == 0, with_compute, packing);
  const Reference reference(problem.ranks, problem.elements, problem.points, shares, with_compute);
  for (const Rank& rank : ranks) {
    const Block& block = rank.grid.block();
    const Comparison found =
        compare(reference, rank.u, {block.first[0], block.first[1], block.first[2]},
                problem.elements, problem.points);
    EXPECT_EQ(found.compared, rank.u.size());
    EXPECT_EQ(found.failed, 0u) << "ranks " << problem.ranks[0] << problem.ranks[1]
                                << problem.ranks[2] << ", elements " << problem.elements[0]
                                << problem.elements[1] << problem.elements[2] << ", points "
                                << problem.points << (with_compute ? "" : ", communication only")
                                << ": point " << found.point[0] << found.point[1] << found.point[2]
                                << " of element " << found.element[0] << found.element[1]
                                << found.element[2] << " is " << found.value << " and not "
                                << found.expected;
  }
}

template <class Use>
void for_each_problem(Use&& use) {
  for (const Triple& ranks :
       {Triple{1, 1, 1}, {2, 1, 1}, {1, 3, 1}, {1, 2, 2}, {2, 2, 2}, {3, 2, 1}, {3, 3, 3}})
    for (const Triple& elements : {Triple{1, 1, 1}, {2, 3, 1}, {3, 2, 4}})
      for (const int points : {3, 4, 5}) use(Problem{ranks, elements, points});
}

TEST(Blocks, AnyDecompositionEqualsTheReference) {
  for_each_problem([](const Problem& problem) {
    for (const bool with_compute : {true, false})
      for (const Packing packing : {Packing::apart, Packing::ahead})
        expect_reference(problem, 3, with_compute, packing);
  });
}

TEST(Blocks, WhatIsPackedOnTheWayIsWhatPackingWouldRead) {
  for_each_problem([](const Problem& problem) {
    std::vector<Rank> ranks = make_ranks(problem);
    for (Rank& rank : ranks) rank.pack();
    deliver(ranks);
    for (Rank& rank : ranks) {
      rank.forget_packed();
      rank.unpack(rank.outgoing);
      const auto ahead = rank.out;
      rank.sum_inside();
      rank.forget_packed();
      rank.pack();
      for (int direction = 0; direction < directions; ++direction)
        EXPECT_EQ(differences(ahead[static_cast<std::size_t>(direction)],
                              rank.out[static_cast<std::size_t>(direction)]),
                  0u);
    }
  });
}

TEST(Blocks, AMessageIsPackedWhenAllThatNeedsTheOneOfItsDirectionIsUnpacked) {
  std::vector<Rank> ranks = make_ranks({{3, 3, 3}, {2, 1, 3}, 4});
  for (Rank& rank : ranks) rank.pack();
  deliver(ranks);
  for (Rank& rank : ranks)
    for (const int message : rank.grid.neighbours()) {
      rank.forget_packed();
      for (const int region : rank.grid.neighbours())
        if (is_part(message, region)) rank.unpack_region(region, rank.outgoing);
      const std::vector<double>& packed = rank.out[static_cast<std::size_t>(message)];
      EXPECT_EQ(differences(packed, packed), 0u);
    }
}

TEST(Blocks, SumsInsideTouchNothingThatIsPacked) {
  for_each_problem([](const Problem& problem) {
    for (Rank& rank : make_ranks(problem)) {
      rank.pack();
      const auto before = rank.out;
      rank.sum_inside();
      rank.pack();
      for (std::size_t i = 0; i < before.size(); ++i)
        EXPECT_EQ(differences(before[i], rank.out[i]), 0u);
    }
  });
}

TEST(Blocks, DatatypesHoldWhatIsPacked) {
  const Problem problem{{2, 2, 2}, {3, 2, 4}, 5};
  for (int number = 0; number < 8; ++number) {
    Rank rank(problem, number);
    rank.pack();
    std::vector<apps::Neighbour> neighbours;
    for (const int direction : rank.grid.neighbours()) neighbours.push_back({direction, 0, 0});
    const auto messages = messages_in_place(rank.grid.block(), rank.u.data(), neighbours);
    for (std::size_t i = 0; i < neighbours.size(); ++i) {
      const auto& packed = rank.out[static_cast<std::size_t>(neighbours[i].direction)];
      std::vector<double> by_mpi(packed.size());
      const int bytes = static_cast<int>(packed.size() * sizeof(double));
      int at = 0;
      MPI_Pack(rank.u.data(), 1, messages.sent[i].type(), by_mpi.data(), bytes, &at, MPI_COMM_SELF);
      EXPECT_EQ(at, bytes);
      EXPECT_EQ(by_mpi, packed) << "direction " << neighbours[i].direction;
    }
  }
}

TEST(Blocks, MessagesHaveThePublishedSizes) {
  const RankGrid grid({{3, 3, 3}, {15, 14, 13}, 12}, 13);
  EXPECT_EQ(grid.neighbours().size(), 26u);
  const auto bytes = [&](int x, int y, int z) {
    return layout_of(grid.block(), nowhere + x + 3 * y + 9 * z).size() * sizeof(double);
  };
  EXPECT_EQ(bytes(1, 0, 0), 209664u);
  EXPECT_EQ(bytes(0, 1, 0), 224640u);
  EXPECT_EQ(bytes(0, 0, 1), 241920u);
  EXPECT_EQ(bytes(0, 1, -1), 1440u);
  EXPECT_EQ(bytes(1, 0, 1), 1344u);
  EXPECT_EQ(bytes(-1, 1, 0), 1248u);
  EXPECT_EQ(bytes(-1, 1, -1), 8u);
}

TEST(Blocks, WhatDoesNotFitIsRefused) {
  EXPECT_THROW(settled({{2, 2, 1}, {3, 3, 3}, 4}, 3), tool::UserError);
  EXPECT_THROW(settled({{1, 1, 1}, {1, 10000, 10000}, 64}, 1), tool::UserError);
  EXPECT_EQ(settled({{0, 0, 0}, {3, 3, 3}, 4}, 6).ranks[0], 3);
}

// Where a copy lies in the whole grid, with copies of the same point at the same place.
Triple place_in_grid(const Triple& element, const Triple& point, int points) {
  Triple place{};
  for (std::size_t d = 0; d < 3; ++d) place[d] = element[d] * (points - 1) + point[d];
  return place;
}

template <class Use>
void for_each_copy(const Triple& elements, int points, Use&& use) {
  for (int kz = 0; kz < elements[2]; ++kz)
    for (int ky = 0; ky < elements[1]; ++ky)
      for (int kx = 0; kx < elements[0]; ++kx)
        for (int iz = 0; iz < points; ++iz)
          for (int iy = 0; iy < points; ++iy)
            for (int ix = 0; ix < points; ++ix) use(Triple{kx, ky, kz}, Triple{ix, iy, iz});
}

TEST(Reference, IsTheSumOverAllCopies) {
  constexpr int points = 4;
  const Triple elements{3, 2, 4};
  const Reference first({1, 1, 1}, elements, points, 0, true);
  std::map<Triple, double> sums;
  std::map<Triple, int> copies;
  for_each_copy(elements, points, [&](const Triple& element, const Triple& point) {
    sums[place_in_grid(element, point, points)] += first.value(element, point);
    ++copies[place_in_grid(element, point, points)];
  });
  const Reference one({1, 1, 1}, elements, points, 1, true);
  const Reference two({1, 1, 1}, elements, points, 2, true);
  for_each_copy(elements, points, [&](const Triple& element, const Triple& point) {
    const Triple place = place_in_grid(element, point, points);
    EXPECT_TRUE(is_equal(one.value(element, point), sums[place]));
    EXPECT_TRUE(is_equal(two.value(element, point), sums[place] * copies[place]));
  });
}

TEST(Reference, EqualsTheClosedForm) {
  for (const int shares : {0, 1, 2, 7, 330}) {
    const Reference reference({2, 1, 2}, {2, 2, 1}, 3, shares, true);
    for_each_copy({4, 2, 2}, 3, [&](const Triple& element, const Triple& point) {
      const double value = reference.value(element, point);
      EXPECT_TRUE(is_equal(value, reference.closed_form(element, point))) << value;
    });
  }
}

TEST(Comparison, FindsEveryWrongValueAndTheFirst) {
  const Triple elements{2, 2, 1};
  constexpr int points = 3;
  const Reference reference({1, 1, 1}, elements, points, 2, true);
  std::vector<double> values;
  for_each_copy(elements, points, [&](const Triple& element, const Triple& point) {
    values.push_back(reference.value(element, point));
  });
  EXPECT_EQ(compare(reference, values, {0, 0, 0}, elements, points).failed, 0u);
  values[30] *= 1 + 1e-14;
  values[40] = std::numeric_limits<double>::quiet_NaN();
  const Comparison found = compare(reference, values, {0, 0, 0}, elements, points);
  EXPECT_EQ(found.failed, 2u);
  EXPECT_EQ(found.element, (Triple{1, 0, 0}));
  EXPECT_EQ(found.point, (Triple{0, 1, 0}));
}

}  // namespace
}  // namespace penstock::faces
