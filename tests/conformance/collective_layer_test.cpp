// SPDX-License-Identifier: Apache-2.0
// The collectives of penstock/collectives.hpp: what each rank gets, and blocks that do not fit.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstddef>
#include <numeric>
#include <penstock/collectives.hpp>
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

TEST(CollectiveLayer, AReduceScatterLeavesEachItsBlock) {
  const std::vector<int> in = numbers_of_rank(3 * static_cast<std::size_t>(size()));
  std::vector<int> out(3);
  run(reduce_scatter_init(in, out, MPI_SUM, MPI_COMM_WORLD));
  for (std::size_t i = 0; i < out.size(); ++i)
    EXPECT_EQ(out[i], sum_at(3 * static_cast<std::size_t>(rank()) + i));
}

TEST(CollectiveLayer, NoElementsAreLeftOut) {
  if (size() < 2) GTEST_SKIP() << "needs two ranks";
  std::vector<int> uneven(2 * static_cast<std::size_t>(size()) + 1), even(uneven.size() - 1);
  EXPECT_THROW(alltoall_init(uneven, even, MPI_COMM_WORLD), std::length_error);
  EXPECT_THROW(alltoall_init(even, uneven, MPI_COMM_WORLD), std::length_error);
  EXPECT_THROW(allgather_init(even, uneven, MPI_COMM_WORLD), std::length_error);
  EXPECT_THROW(reduce_scatter_init(uneven, even, MPI_SUM, MPI_COMM_WORLD), std::length_error);
  EXPECT_THROW(reduce_init(even, uneven, MPI_SUM, rank(), MPI_COMM_WORLD), std::length_error);
}

}  // namespace
}  // namespace penstock::test
