// SPDX-License-Identifier: Apache-2.0
// Collectives that add up numbers, by each algorithm: every number of every epoch, its bits where
// the order of its sum is fixed, and what no rank may write. Other operations and types:
// collective_operations_test.cpp.
#include <algorithm>
#include <cmath>

#include "conformance/collective_blocks.hpp"

namespace penstock::test {
namespace {

// Sums of these differ with their order.
float number_of(int from, std::size_t index, int epoch) {
  const auto mixed = static_cast<unsigned>(from) * 7919u + static_cast<unsigned>(index) * 31u +
                     static_cast<unsigned>(epoch) * 17u;
  return 1.0f / static_cast<float>(1 + mixed % 1000);
}

void store_number(std::byte* data, std::size_t index, float number) {
  std::copy_n(reinterpret_cast<const std::byte*>(&number), sizeof number,
              data + index * sizeof number);
}
float load_number(const std::byte* data, std::size_t index) {
  float number;
  std::copy_n(data + index * sizeof number, sizeof number, reinterpret_cast<std::byte*>(&number));
  return number;
}

float serial_sum(std::size_t index, int epoch) {
  float sum = number_of(0, index, epoch);
  for (int from = 1; from < size(); ++from) sum += number_of(from, index, epoch);
  return sum;
}

void fill_numbers(std::byte* data, std::size_t count, int epoch) {
  for (std::size_t i = 0; i < count; ++i) store_number(data, i, number_of(rank(), i, epoch));
}

// Bit for bit the serial sum, or at least the same on all ranks.
void check_sums(GuardedBlock& output, std::size_t first, std::size_t count, int epoch,
                bool in_order) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const float sum = load_number(output.data(), i), serial = serial_sum(first + i, epoch);
    if (in_order ? sum != serial : std::abs(sum - serial) > serial * 1e-5f) ++wrong;
  }
  EXPECT_EQ(wrong, 0u) << "epoch " << epoch << ", " << count << " numbers";
  EXPECT_TRUE(output.borders_hold());
}

void expect_alike(const GuardedBlock& output, const std::byte* data) {
  std::vector<std::byte> first(data, data + output.size());
  MPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_BYTE, 0, MPI_COMM_WORLD);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), data));
}

class CollectiveSums : public ::testing::TestWithParam<const char*> {};

TEST_P(CollectiveSums, AllreduceGivesAllTheSameSum) {
  const AlgorithmInfo info(GetParam());
  const std::string algorithm = GetParam();
  const bool in_order = algorithm == "two-shot" || algorithm == "one-shot" || size() <= 2;
  for (const std::size_t count : block_counts)
    for (const bool in_place : {false, true}) {
      GuardedBlock input(count * sizeof(float), in_place), output(count * sizeof(float), in_place);
      MPI_Request request;
      EXPECT_PST(PST_Allreduce_init(in_place ? MPI_IN_PLACE : input.address(), output.address(),
                                    static_cast<MPI_Count>(count), MPI_FLOAT, MPI_SUM,
                                    MPI_COMM_WORLD, info.get(), &request));
      if (!run_epochs(
              request, {&input, &output}, rounds_each,
              [&](int epoch) {
                output.clear();
                fill_numbers(in_place ? output.data() : input.data(), count, epoch);
              },
              [&](int epoch) {
                check_sums(output, 0, count, epoch, in_order);
                expect_alike(output, output.data());
              }))
        continue;
    }
}
INSTANTIATE_TEST_SUITE_P(Allreduce, CollectiveSums,
                         ::testing::Values("", "two-shot", "doubling", "lanes", "lanes-doubling",
                                           "one-shot"));

TEST(Collectives, ReduceGivesTheRootTheSum) {
  for (const std::size_t count : block_counts)
    for (int root = 0; root < size(); ++root) {
      GuardedBlock input(count * sizeof(float)), output(count * sizeof(float));
      const bool in_place = rank() == root && count % 2 == 1;
      MPI_Request request;
      EXPECT_PST(PST_Reduce_init(in_place ? MPI_IN_PLACE : input.address(),
                                 rank() == root ? output.address() : nullptr,
                                 static_cast<MPI_Count>(count), MPI_FLOAT, MPI_SUM, root,
                                 MPI_COMM_WORLD, MPI_INFO_NULL, &request));
      run_epochs(
          request, {&input, &output}, rounds_each,
          [&](int epoch) {
            output.clear();
            fill_numbers(in_place ? output.data() : input.data(), count, epoch);
          },
          [&](int epoch) {
            if (rank() == root) check_sums(output, 0, count, epoch, size() <= 2 && root == 0);
          });
    }
}

class CollectiveScatter : public ::testing::TestWithParam<const char*> {};

TEST_P(CollectiveScatter, ReduceScatterGivesEachRankItsBlockOfTheSum) {
  const AlgorithmInfo info(GetParam());
  for (const std::size_t count : block_counts)
    for (const bool in_place : {false, true}) {
      const std::size_t all = count * static_cast<std::size_t>(size());
      GuardedBlock input(all * sizeof(float), in_place);
      GuardedBlock output((in_place ? all : count) * sizeof(float), in_place);
      MPI_Request request;
      EXPECT_PST(PST_Reduce_scatter_block_init(
          in_place ? MPI_IN_PLACE : input.address(), output.address(),
          static_cast<MPI_Count>(count), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, info.get(), &request));
      run_epochs(
          request, {&input, &output}, rounds_each,
          [&](int epoch) {
            output.clear();
            fill_numbers(in_place ? output.data() : input.data(), all, epoch);
          },
          [&](int epoch) {
            check_sums(output, static_cast<std::size_t>(rank()) * count, count, epoch, true);
          });
    }
}
INSTANTIATE_TEST_SUITE_P(ReduceScatter, CollectiveScatter,
                         ::testing::Values("", "pairs", "direct"));

}  // namespace
}  // namespace penstock::test
