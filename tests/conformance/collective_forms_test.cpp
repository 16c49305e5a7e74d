// SPDX-License-Identifier: Apache-2.0
// The C++ forms of alltoall and its kin, on memory of the host: they find the number of blocks, and
// say where there are too few.
#include <gtest/gtest.h>
#include <mpi.h>

#include <penstock/collectives.hpp>
#include <stdexcept>
#include <vector>

#include "support/environment.hpp"

namespace penstock::test {
namespace {

void run_once(penstock::Request request) {
  penstock::Requests requests;
  requests.add(std::move(request));
  match(requests);
  penstock::Stream stream;
  penstock::Queue queue(stream);
  queue.run(requests[0]);
  queue.synchronize();
}

// A block of one number, which says whose it is and for whom, behind a hole of one.
std::vector<penstock::Block> blocks_behind_holes(int count) {
  std::vector<penstock::Block> blocks;
  for (int i = 0; i < count; ++i) blocks.push_back({2 * i + 1, 1});
  return blocks;
}

TEST(CollectiveForms, AlltoallHasABlockForEachRank) {
  std::vector<int> in, out(static_cast<std::size_t>(size())), expected;
  for (int peer = 0; peer < size(); ++peer) {
    in.push_back(100 * rank() + peer);
    expected.push_back(100 * peer + rank());
  }
  run_once(alltoall_init(in, out, MPI_COMM_WORLD));
  EXPECT_EQ(out, expected);
}

TEST(CollectiveForms, AlltoallvHasABlockForEachRank) {
  std::vector<int> in, out(2 * static_cast<std::size_t>(size()), -1), expected;
  for (int peer = 0; peer < size(); ++peer) {
    in.insert(in.end(), {-2, 100 * rank() + peer});
    expected.insert(expected.end(), {-1, 100 * peer + rank()});
  }
  const std::vector<penstock::Block> blocks = blocks_behind_holes(size());
  run_once(alltoallv_init(in, blocks, out, blocks, MPI_COMM_WORLD));
  EXPECT_EQ(out, expected);
  const std::vector<penstock::Block> more = blocks_behind_holes(size() + 1);
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

TEST(CollectiveForms, NeighborAlltoallHasABlockForEachNeighbour) {
  const Tree tree;
  std::vector<int> in(tree.destinations.size(), rank()), out(tree.sources.size(), -1);
  run_once(neighbor_alltoall_init(in, out, tree.comm));
  EXPECT_EQ(out, tree.sources);
}

TEST(CollectiveForms, NeighborAlltoallvHasABlockForEachNeighbour) {
  const Tree tree;
  const auto sends = blocks_behind_holes(static_cast<int>(tree.destinations.size()));
  const auto receives = blocks_behind_holes(static_cast<int>(tree.sources.size()));
  std::vector<int> in(2 * sends.size(), rank()), out(2 * receives.size(), -1), expected;
  run_once(neighbor_alltoallv_init(in, sends, out, receives, tree.comm, "nonblocking"));
  for (const int source : tree.sources) expected.insert(expected.end(), {-1, source});
  EXPECT_EQ(out, expected);
  const std::vector<penstock::Block> more = blocks_behind_holes(3);
  EXPECT_THROW(neighbor_alltoallv_init(in, sends, out, more, tree.comm), std::length_error);
}

TEST(CollectiveForms, GridsHaveTwoNeighboursADimension) {
  const int sides[] = {size(), 1}, periodic[] = {1, 0};
  MPI_Comm grid;
  MPI_Cart_create(MPI_COMM_WORLD, 2, sides, periodic, 0, &grid);
  std::vector<int> in{rank(), rank(), -2, -2}, out(4, -1);
  run_once(neighbor_alltoall_init(in, out, grid));
  EXPECT_EQ(out, (std::vector<int>{previous_rank(), next_rank(), -1, -1}));
  MPI_Comm_free(&grid);
}

}  // namespace
}  // namespace penstock::test
