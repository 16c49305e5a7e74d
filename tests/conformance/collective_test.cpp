// SPDX-License-Identifier: Apache-2.0
// Collectives that move bytes, by each algorithm: every byte of every epoch, and what no rank may
// write.
#include <algorithm>
#include <cstdint>

#include "conformance/collective_blocks.hpp"

namespace penstock::test {
namespace {

std::byte block_byte(int from, int to, std::size_t index, int epoch) {
  const auto mixed = static_cast<unsigned>(from) * 131u + static_cast<unsigned>(to) * 31u +
                     static_cast<unsigned>(index) * 7u + static_cast<unsigned>(epoch) * 61u;
  return static_cast<std::byte>(mixed ^ (mixed >> 8));
}

void fill_blocks(std::byte* data, std::size_t block, int from, int epoch, bool one) {
  for (int to = 0; to < (one ? 1 : size()); ++to)
    for (std::size_t i = 0; i < block; ++i)
      data[static_cast<std::size_t>(to) * block + i] = block_byte(from, to, i, epoch);
}

// A block of each rank, for this one or for all.
void check_blocks(GuardedBlock& output, std::size_t block, int epoch, bool one) {
  std::size_t wrong = 0;
  for (int from = 0; from < size(); ++from)
    for (std::size_t i = 0; i < block; ++i)
      if (output.data()[static_cast<std::size_t>(from) * block + i] !=
          block_byte(from, one ? 0 : rank(), i, epoch))
        ++wrong;
  EXPECT_EQ(wrong, 0u) << "epoch " << epoch << ", blocks of " << block;
  EXPECT_TRUE(output.borders_hold());
}

class CollectiveBytes : public ::testing::TestWithParam<const char*> {};

TEST_P(CollectiveBytes, AlltoallGivesEachRankItsBlock) {
  const AlgorithmInfo info(GetParam());
  for (const std::size_t block : block_counts)
    for (const bool in_place : {false, true}) {
      const std::size_t all = block * static_cast<std::size_t>(size());
      GuardedBlock input(all, in_place), output(all, in_place);
      MPI_Request request;
      EXPECT_PST(PST_Alltoall_init(in_place ? MPI_IN_PLACE : input.address(),
                                   static_cast<MPI_Count>(block), MPI_BYTE, output.address(),
                                   static_cast<MPI_Count>(block), MPI_BYTE, MPI_COMM_WORLD,
                                   info.get(), &request));
      GuardedBlock& filled = in_place ? output : input;
      if (!run_epochs(
              request, {&input, &output}, rounds_each,
              [&](int epoch) {
                output.clear();
                fill_blocks(filled.data(), block, rank(), epoch, false);
              },
              [&](int epoch) { check_blocks(output, block, epoch, false); }))
        continue;
    }
}
INSTANTIATE_TEST_SUITE_P(Alltoall, CollectiveBytes,
                         ::testing::Values("", "pairwise", "nonblocking", "hierarchical",
                                           "multileader", "node-aware", "locality-aware",
                                           "multileader-locality", "direct", "put-lock",
                                           "put-fence", "pairwise:2", "multileader:1",
                                           "multileader:2", "locality-aware:2",
                                           "multileader-locality:2"));

class CollectiveGather : public ::testing::TestWithParam<const char*> {};

TEST_P(CollectiveGather, AllgatherGivesAllTheBlockOfEach) {
  const AlgorithmInfo info(GetParam());
  for (const std::size_t block : block_counts)
    for (const bool in_place : {false, true}) {
      GuardedBlock input(block), output(block * static_cast<std::size_t>(size()));
      MPI_Request request;
      EXPECT_PST(PST_Allgather_init(in_place ? MPI_IN_PLACE : input.address(),
                                    static_cast<MPI_Count>(block), MPI_BYTE, output.address(),
                                    static_cast<MPI_Count>(block), MPI_BYTE, MPI_COMM_WORLD,
                                    info.get(), &request));
      run_epochs(
          request, {&input, &output}, rounds_each,
          [&](int epoch) {
            output.clear();
            fill_blocks(
                in_place ? output.data() + static_cast<std::size_t>(rank()) * block : input.data(),
                block, rank(), epoch, true);
          },
          [&](int epoch) { check_blocks(output, block, epoch, true); });
    }
}
INSTANTIATE_TEST_SUITE_P(Allgather, CollectiveGather,
                         ::testing::Values("", "ring", "dissemination", "direct"));

TEST(Collectives, BcastGivesAllWhatTheRootHas) {
  for (const std::size_t bytes : block_counts)
    for (int root = 0; root < size(); ++root) {
      GuardedBlock data(bytes);
      MPI_Request request;
      EXPECT_PST(PST_Bcast_init(data.address(), static_cast<MPI_Count>(bytes), MPI_BYTE, root,
                                MPI_COMM_WORLD, MPI_INFO_NULL, &request));
      run_epochs(
          request, {&data}, rounds_each,
          [&](int epoch) {
            data.clear();
            if (rank() == root) fill_blocks(data.data(), bytes, root, epoch, true);
          },
          [&](int epoch) {
            std::size_t wrong = 0;
            for (std::size_t i = 0; i < bytes; ++i)
              if (data.data()[i] != block_byte(root, 0, i, epoch)) ++wrong;
            EXPECT_EQ(wrong, 0u);
            EXPECT_TRUE(data.borders_hold());
          });
    }
}

// From rank a to rank b (a + 2 b) mod 4 elements of eight bytes, with holes and in no order.
class CollectiveUneven : public ::testing::TestWithParam<const char*> {};

TEST_P(CollectiveUneven, AlltoallvGivesEachRankItsBlock) {
  const AlgorithmInfo info(GetParam());
  const auto elements = [](int from, int to) { return (from + 2 * to) % 4; };
  const auto ranks = static_cast<std::size_t>(size());
  constexpr std::size_t room = 5;  // elements, for each block
  std::vector<MPI_Count> send_counts, receive_counts;
  std::vector<MPI_Aint> places;
  for (int peer = 0; peer < size(); ++peer) {
    send_counts.push_back(elements(rank(), peer));
    receive_counts.push_back(elements(peer, rank()));
    places.push_back(static_cast<MPI_Aint>((size() - 1 - peer) * static_cast<int>(room)));
  }
  GuardedBlock input(ranks * room * 8), output(ranks * room * 8);
  MPI_Request request;
  EXPECT_PST(PST_Alltoallv_init(input.address(), send_counts.data(), places.data(), MPI_DOUBLE,
                                output.address(), receive_counts.data(), places.data(), MPI_DOUBLE,
                                MPI_COMM_WORLD, info.get(), &request));
  std::vector<MPI_Aint> offsets;
  for (const MPI_Aint place : places) offsets.push_back(place * 8);
  std::fill(places.begin(), places.end(), -1);  // the arrays are the program's again
  std::fill(send_counts.begin(), send_counts.end(), -1);
  run_epochs(
      request, {&input, &output}, rounds_each,
      [&](int epoch) {
        output.clear();
        for (int to = 0; to < size(); ++to)
          for (std::size_t i = 0; i < static_cast<std::size_t>(elements(rank(), to)) * 8; ++i)
            input.data()[static_cast<std::size_t>(offsets[static_cast<std::size_t>(to)]) + i] =
                block_byte(rank(), to, i, epoch);
      },
      [&](int epoch) {
        std::vector<std::byte> expected(output.size());
        for (int from = 0; from < size(); ++from)
          for (std::size_t i = 0; i < static_cast<std::size_t>(elements(from, rank())) * 8; ++i)
            expected[static_cast<std::size_t>(offsets[static_cast<std::size_t>(from)]) + i] =
                block_byte(from, rank(), i, epoch);
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), output.data()));
        EXPECT_TRUE(output.borders_hold());
      });
}
INSTANTIATE_TEST_SUITE_P(Alltoallv, CollectiveUneven,
                         ::testing::Values("", "pairwise", "nonblocking", "direct", "put-lock",
                                           "put-fence", "pairwise:2"));

TEST(Collectives, ServeReversedAndSplitCommunicators) {
  MPI_Comm reversed, half;
  MPI_Comm_split(MPI_COMM_WORLD, 0, size() - rank(), &reversed);
  MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, rank(), &half);
  for (const MPI_Comm comm : {reversed, half}) {
    int own = -1, ranks = 0;
    MPI_Comm_rank(comm, &own);
    MPI_Comm_size(comm, &ranks);
    const std::size_t bytes = static_cast<std::size_t>(ranks) * sizeof(int);
    GuardedBlock in(bytes, false), out(bytes, false);
    MPI_Request request;
    EXPECT_PST(PST_Alltoall_init(in.address(), 1, MPI_INT, out.address(), 1, MPI_INT, comm,
                                 MPI_INFO_NULL, &request));
    run_epochs(
        request, {&in, &out}, 3,
        [&](int epoch) {
          for (int to = 0; to < ranks; ++to) in.numbers<int>()[to] = own * 100 + to + epoch;
        },
        [&](int epoch) {
          for (int from = 0; from < ranks; ++from)
            EXPECT_EQ(out.numbers<int>()[from], from * 100 + own + epoch);
        });
  }
  MPI_Comm_free(&reversed);
  MPI_Comm_free(&half);
}

}  // namespace
}  // namespace penstock::test
