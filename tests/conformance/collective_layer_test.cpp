// SPDX-License-Identifier: Apache-2.0
// The collectives of penstock/collectives.hpp: what each rank gets, and blocks that do not fit.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstddef>
#include <cstdlib>
#include <numeric>
#include <penstock/collectives.hpp>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "support/environment.hpp"

namespace penstock::test {
namespace {

void run(Request request) {
  penstock::Stream stream;
  penstock::Queue queue(stream);
  Requests requests;
  requests.add(std::move(request));
  match(requests);
  queue.run(requests[0]);
  queue.synchronize();
}

// 0, 1, 2 ... and as much more as the rank.
std::vector<int> numbers_of_rank(std::size_t count) {
  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), rank());
  return numbers;
}

int sum_at(std::size_t place) {
  return size() * static_cast<int>(place) + size() * (size() - 1) / 2;
}

TEST(CollectiveLayer, AReduceEndsOnItsRoot) {
  const std::vector<int> in = numbers_of_rank(5);
  const int root = size() - 1;
  std::vector<int> out(rank() == root ? in.size() : 0);
  run(reduce_init(in, out, MPI_SUM, root, MPI_COMM_WORLD));
  for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], sum_at(i));
}

// One team of all ranks, whose buffer is that of rank 0, so that the sum is the buffer itself; and
// teams of one.
TEST(CollectiveLayer, TeamsCombineTheirBuffers) {
  constexpr std::size_t count = 7;
  penstock::Buffer<int> parts(count), sums(count);
  std::iota(parts.begin(), parts.end(), 5);
  {
    const TeamMemory<int> in(parts.data(), count, 0, MPI_COMM_WORLD);
    TeamMemory<int> out(sums.data(), count, 0, MPI_COMM_WORLD);
    run(team_allreduce_init(in.all(), out.all(), MPI_SUM, MPI_COMM_WORLD, MPI_COMM_WORLD));
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(out.all()[i], 5 + static_cast<int>(i));
  }
  run(team_allreduce_init(parts.all(), MPI_SUM, MPI_COMM_SELF, MPI_COMM_WORLD, "two-shot"));
  for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(parts[i], size() * (5 + static_cast<int>(i)));
  EXPECT_THROW(
      team_allreduce_init(parts.all().first(3), sums.all(), MPI_SUM, MPI_COMM_SELF, MPI_COMM_WORLD),
      std::length_error);
}

TEST(CollectiveLayer, AReduceScatterLeavesEachItsBlock) {
  const std::vector<int> in = numbers_of_rank(3 * static_cast<std::size_t>(size()));
  std::vector<int> out(3);
  run(reduce_scatter_init(in, out, MPI_SUM, MPI_COMM_WORLD));
  for (std::size_t i = 0; i < out.size(); ++i)
    EXPECT_EQ(out[i], sum_at(3 * static_cast<std::size_t>(rank()) + i));
}

// PENSTOCK_COLL, which a run of its own sets, comes before what a call says.
TEST(CollectiveLayer, AlgorithmsAreNamedByCallsAndByTheEnvironment) {
  const char* const forced = std::getenv("PENSTOCK_COLL");
  if (forced != nullptr) {
    ASSERT_STREQ(forced, "alltoall:pairwise,allreduce:two-shot");
  }
  const std::vector<int> input(static_cast<std::size_t>(size()));
  std::vector<int> data(input.size());
  Requests requests;
  requests.add(allreduce_init(data, MPI_SUM, MPI_COMM_WORLD, "doubling"));
  requests.add(alltoall_init(input, data, MPI_COMM_WORLD, "nonblocking"));
  requests.add(allgather_init(std::span(data).first(1), data, MPI_COMM_WORLD, "ring"));
  match(requests);
  EXPECT_EQ(algorithm_of(requests[0]), forced != nullptr ? "two-shot" : "doubling");
  EXPECT_EQ(algorithm_of(requests[1]), forced != nullptr ? "pairwise" : "nonblocking");
  EXPECT_EQ(algorithm_of(requests[2]), "ring");
}

TEST(CollectiveLayer, NoElementsAreLeftOut) {
  if (size() < 2) GTEST_SKIP() << "needs two ranks";
  std::vector<int> uneven(2 * static_cast<std::size_t>(size()) + 1), even(uneven.size() - 1);
  EXPECT_THROW(alltoall_init(uneven, even, MPI_COMM_WORLD), std::length_error);
  EXPECT_THROW(alltoall_init(even, uneven, MPI_COMM_WORLD), std::length_error);
  EXPECT_THROW(allgather_init(even, uneven, MPI_COMM_WORLD), std::length_error);
  EXPECT_THROW(reduce_scatter_init(uneven, even, MPI_SUM, MPI_COMM_WORLD), std::length_error);
  EXPECT_THROW(reduce_init(even, uneven, MPI_SUM, rank(), MPI_COMM_WORLD), std::length_error);
  const int sides[] = {size()}, periodic[] = {1};
  MPI_Comm ring;
  MPI_Cart_create(MPI_COMM_WORLD, 1, sides, periodic, 0, &ring);
  const std::vector<int> three(3);  // for two neighbours
  EXPECT_THROW(neighbor_alltoall_init(three, even, ring), std::length_error);
  MPI_Comm_free(&ring);
}

// A block of one number, which says whose it is and for whom, behind a hole of one.
std::vector<Block> blocks_behind_holes(int count) {
  std::vector<Block> blocks;
  for (int i = 0; i < count; ++i) blocks.push_back({2 * i + 1, 1});
  return blocks;
}

TEST(CollectiveLayer, AlltoallHasABlockForEachRank) {
  std::vector<int> in, out(static_cast<std::size_t>(size())), expected;
  for (int peer = 0; peer < size(); ++peer) {
    in.push_back(100 * rank() + peer);
    expected.push_back(100 * peer + rank());
  }
  run(alltoall_init(in, out, MPI_COMM_WORLD));
  EXPECT_EQ(out, expected);
}

TEST(CollectiveLayer, AlltoallvHasABlockForEachRank) {
  std::vector<int> in, out(2 * static_cast<std::size_t>(size()), -1), expected;
  for (int peer = 0; peer < size(); ++peer) {
    in.insert(in.end(), {-2, 100 * rank() + peer});
    expected.insert(expected.end(), {-1, 100 * peer + rank()});
  }
  const std::vector<Block> blocks = blocks_behind_holes(size());
  run(alltoallv_init(in, blocks, out, blocks, MPI_COMM_WORLD));
  EXPECT_EQ(out, expected);
  const std::vector<Block> more = blocks_behind_holes(size() + 1);
  EXPECT_THROW(alltoallv_init(in, more, out, blocks, MPI_COMM_WORLD), std::length_error);
}

// Who has two sources, and one destination. Each one's block is its rank.
struct Tree {
  MPI_Comm comm = MPI_COMM_NULL;
  std::vector<int> sources, destinations;

  Tree() {
    const int weights[] = {1, 1};
    for (int child = 2 * rank() + 1; child <= 2 * rank() + 2 && child < size(); ++child)
      sources.push_back(child);
    if (rank() > 0) destinations.push_back((rank() - 1) / 2);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, static_cast<int>(sources.size()), sources.data(),
                                   weights, static_cast<int>(destinations.size()),
                                   destinations.data(), weights, MPI_INFO_NULL, 0, &comm);
  }
  ~Tree() { MPI_Comm_free(&comm); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
};

TEST(CollectiveLayer, NeighborAlltoallHasABlockForEachNeighbour) {
  const Tree tree;
  std::vector<int> in(tree.destinations.size(), rank()), out(tree.sources.size(), -1);
  run(neighbor_alltoall_init(in, out, tree.comm));
  EXPECT_EQ(out, tree.sources);
}

TEST(CollectiveLayer, NeighborAlltoallvHasABlockForEachNeighbour) {
  const Tree tree;
  const auto sends = blocks_behind_holes(static_cast<int>(tree.destinations.size()));
  const auto receives = blocks_behind_holes(static_cast<int>(tree.sources.size()));
  std::vector<int> in(2 * sends.size(), rank()), out(2 * receives.size(), -1), expected;
  run(neighbor_alltoallv_init(in, sends, out, receives, tree.comm, "nonblocking"));
  for (const int source : tree.sources) expected.insert(expected.end(), {-1, source});
  EXPECT_EQ(out, expected);
  const std::vector<Block> more = blocks_behind_holes(3);
  EXPECT_THROW(neighbor_alltoallv_init(in, sends, out, more, tree.comm), std::length_error);
}

TEST(CollectiveLayer, GridsHaveTwoNeighboursADimension) {
  const int sides[] = {size(), 1}, periodic[] = {1, 0};
  MPI_Comm grid;
  MPI_Cart_create(MPI_COMM_WORLD, 2, sides, periodic, 0, &grid);
  std::vector<int> in{rank(), rank(), -2, -2}, out(4, -1);
  run(neighbor_alltoall_init(in, out, grid));
  EXPECT_EQ(out, (std::vector<int>{previous_rank(), next_rank(), -1, -1}));
  MPI_Comm_free(&grid);
}

}  // namespace
}  // namespace penstock::test
