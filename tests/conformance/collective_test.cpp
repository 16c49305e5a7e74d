// SPDX-License-Identifier: Apache-2.0
// Collectives on streams, by each algorithm: every byte of every epoch, and what no rank may write.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "penstock/penstock.h"
#include "support/device.hpp"
#include "support/environment.hpp"
#include "support/rounds.hpp"

namespace penstock::test {
namespace {

constexpr std::size_t guard_bytes = 16;  // bytes on both sides of a buffer that nobody may touch
constexpr std::byte guard_byte{0xa5};

// Between borders, at an address that no number is aligned to.
class GuardedBlock {
 public:
  explicit GuardedBlock(std::size_t bytes)
      : bytes_(bytes), memory_(bytes + 2 * guard_bytes + 1, guard_byte) {}
  std::byte* data() { return memory_.data() + guard_bytes + 1; }
  std::size_t size() const { return bytes_; }
  void clear() { std::fill_n(data(), bytes_, std::byte{}); }
  bool borders_hold() const {
    const auto is_untouched = [](std::byte each) { return each == guard_byte; };
    return std::all_of(memory_.begin(), memory_.begin() + guard_bytes + 1, is_untouched) &&
           std::all_of(memory_.end() - guard_bytes, memory_.end(), is_untouched);
  }

 private:
  std::size_t bytes_;
  std::vector<std::byte> memory_;
};

std::byte block_byte(int from, int to, std::size_t index, int epoch) {
  const auto mixed = static_cast<unsigned>(from) * 131u + static_cast<unsigned>(to) * 31u +
                     static_cast<unsigned>(index) * 7u + static_cast<unsigned>(epoch) * 61u;
  return static_cast<std::byte>(mixed ^ (mixed >> 8));
}

class AlgorithmInfo {
 public:
  explicit AlgorithmInfo(const std::string& algorithm) {
    if (algorithm.empty()) return;
    MPI_Info_create(&info_);
    MPI_Info_set(info_, "penstock_algorithm", algorithm.c_str());
  }
  ~AlgorithmInfo() {
    if (info_ != MPI_INFO_NULL) MPI_Info_free(&info_);
  }
  AlgorithmInfo(const AlgorithmInfo&) = delete;
  AlgorithmInfo& operator=(const AlgorithmInfo&) = delete;
  MPI_Info get() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

class CollectiveQueue {
 public:
  CollectiveQueue() { EXPECT_PST(PST_Queue_create(MPI_COMM_NULL, stream_, &queue_)); }
  ~CollectiveQueue() {
    PST_Queue_free(&queue_);
    free_stream(stream_);
  }
  CollectiveQueue(const CollectiveQueue&) = delete;
  CollectiveQueue& operator=(const CollectiveQueue&) = delete;
  PST_Queue get() const { return queue_; }
  Stream stream() const { return stream_; }

 private:
  const Stream stream_ = make_stream();
  PST_Queue queue_ = PST_QUEUE_NULL;
};

// Matches, runs epochs by turns in one call and in two, and frees. False: the algorithm does not
// serve these ranks, which all of them say alike.
bool run_epochs(MPI_Request request, int epochs, const std::function<void(int)>& fill,
                const std::function<void(int)>& check) {
  const int code = PST_Match(&request, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS) {
    EXPECT_EQ(kind_of(code), PST_ERROR_UNSUPPORTED) << describe(code);
    MPI_Request_free(&request);
    return false;
  }
  const CollectiveQueue queue;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    fill(epoch);
    if (epoch % 2 == 0) {
      EXPECT_PST(PST_Enqueue_run(queue.get(), &request));
    } else {
      EXPECT_PST(PST_Enqueue_start(queue.get(), &request));
      EXPECT_PST(PST_Enqueue_wait(queue.get(), &request));
    }
    EXPECT_PST(PST_Queue_wait(queue.get()));
    check(epoch);
  }
  EXPECT_PST(PST_Request_free(&request));
  return true;
}

std::vector<std::size_t> block_counts() {
  return {0, 1, 7, 1003, 20011};
}
constexpr int rounds_each = 4;

// ---- Bytes

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
  for (const std::size_t block : block_counts())
    for (const bool in_place : {false, true}) {
      const std::size_t all = block * static_cast<std::size_t>(size());
      GuardedBlock input(all), output(all);
      MPI_Request request;
      EXPECT_PST(PST_Alltoall_init(in_place ? MPI_IN_PLACE : input.data(),
                                   static_cast<MPI_Count>(block), MPI_BYTE, output.data(),
                                   static_cast<MPI_Count>(block), MPI_BYTE, MPI_COMM_WORLD,
                                   info.get(), &request));
      GuardedBlock& filled = in_place ? output : input;
      if (!run_epochs(
              request, rounds_each,
              [&](int epoch) {
                output.clear();
                fill_blocks(filled.data(), block, rank(), epoch, false);
              },
              [&](int epoch) { check_blocks(output, block, epoch, false); }))
        return;
    }
}
INSTANTIATE_TEST_SUITE_P(Alltoall, CollectiveBytes,
                         ::testing::Values("", "pairwise", "nonblocking", "hierarchical",
                                           "multileader", "node-aware", "locality-aware",
                                           "multileader-locality", "direct"));

class CollectiveGather : public ::testing::TestWithParam<const char*> {};

TEST_P(CollectiveGather, AllgatherGivesAllTheBlockOfEach) {
  const AlgorithmInfo info(GetParam());
  for (const std::size_t block : block_counts())
    for (const bool in_place : {false, true}) {
      GuardedBlock input(block), output(block * static_cast<std::size_t>(size()));
      MPI_Request request;
      EXPECT_PST(PST_Allgather_init(in_place ? MPI_IN_PLACE : input.data(),
                                    static_cast<MPI_Count>(block), MPI_BYTE, output.data(),
                                    static_cast<MPI_Count>(block), MPI_BYTE, MPI_COMM_WORLD,
                                    info.get(), &request));
      run_epochs(
          request, rounds_each,
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
  for (const std::size_t bytes : block_counts())
    for (int root = 0; root < size(); ++root) {
      GuardedBlock data(bytes);
      MPI_Request request;
      EXPECT_PST(PST_Bcast_init(data.data(), static_cast<MPI_Count>(bytes), MPI_BYTE, root,
                                MPI_COMM_WORLD, MPI_INFO_NULL, &request));
      run_epochs(
          request, rounds_each,
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
  EXPECT_PST(PST_Alltoallv_init(input.data(), send_counts.data(), places.data(), MPI_DOUBLE,
                                output.data(), receive_counts.data(), places.data(), MPI_DOUBLE,
                                MPI_COMM_WORLD, info.get(), &request));
  std::vector<MPI_Aint> offsets;
  for (const MPI_Aint place : places) offsets.push_back(place * 8);
  std::fill(places.begin(), places.end(), -1);  // the arrays are the program's again
  std::fill(send_counts.begin(), send_counts.end(), -1);
  run_epochs(
      request, rounds_each,
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
                         ::testing::Values("", "pairwise", "nonblocking", "direct"));

// ---- Reductions

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
  const std::string name = GetParam();
  const bool in_order = name == "two-shot" || name == "one-shot" || size() <= 2;
  for (const std::size_t count : block_counts())
    for (const bool in_place : {false, true}) {
      GuardedBlock input(count * sizeof(float)), output(count * sizeof(float));
      MPI_Request request;
      EXPECT_PST(PST_Allreduce_init(in_place ? MPI_IN_PLACE : input.data(), output.data(),
                                    static_cast<MPI_Count>(count), MPI_FLOAT, MPI_SUM,
                                    MPI_COMM_WORLD, info.get(), &request));
      if (!run_epochs(
              request, rounds_each,
              [&](int epoch) {
                output.clear();
                fill_numbers(in_place ? output.data() : input.data(), count, epoch);
              },
              [&](int epoch) {
                check_sums(output, 0, count, epoch, in_order);
                expect_alike(output, output.data());
              }))
        return;
    }
}
INSTANTIATE_TEST_SUITE_P(Allreduce, CollectiveSums,
                         ::testing::Values("", "two-shot", "doubling", "lanes", "lanes-doubling",
                                           "one-shot"));

TEST(Collectives, ReduceGivesTheRootTheSum) {
  for (const std::size_t count : block_counts())
    for (int root = 0; root < size(); ++root) {
      GuardedBlock input(count * sizeof(float)), output(count * sizeof(float));
      const bool in_place = rank() == root && count % 2 == 1;
      MPI_Request request;
      EXPECT_PST(PST_Reduce_init(in_place ? MPI_IN_PLACE : input.data(),
                                 rank() == root ? output.data() : nullptr,
                                 static_cast<MPI_Count>(count), MPI_FLOAT, MPI_SUM, root,
                                 MPI_COMM_WORLD, MPI_INFO_NULL, &request));
      run_epochs(
          request, rounds_each,
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
  for (const std::size_t count : block_counts())
    for (const bool in_place : {false, true}) {
      const std::size_t all = count * static_cast<std::size_t>(size());
      GuardedBlock input(all * sizeof(float)), output((in_place ? all : count) * sizeof(float));
      MPI_Request request;
      EXPECT_PST(PST_Reduce_scatter_block_init(
          in_place ? MPI_IN_PLACE : input.data(), output.data(), static_cast<MPI_Count>(count),
          MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, info.get(), &request));
      if (!run_epochs(
              request, rounds_each,
              [&](int epoch) {
                output.clear();
                fill_numbers(in_place ? output.data() : input.data(), all, epoch);
              },
              [&](int epoch) {
                check_sums(output, static_cast<std::size_t>(rank()) * count, count, epoch, true);
              }))
        return;
    }
}
INSTANTIATE_TEST_SUITE_P(ReduceScatter, CollectiveScatter,
                         ::testing::Values("", "pairs", "direct"));

// ---- Operations and types

template <class T>
T operand(int from, std::size_t i) {
  return static_cast<T>(static_cast<int>(i) * 3 % 7 + from + 1);
}

template <class T>
struct NamedOperation {
  MPI_Op op;
  T (*apply)(T, T);
};

template <class T>
void expect_reduced(MPI_Datatype type, const NamedOperation<T>& operation, MPI_Info info) {
  std::vector<T> in(9), out(9);
  MPI_Request request;
  EXPECT_PST(PST_Allreduce_init(in.data(), out.data(), 9, type, operation.op, MPI_COMM_WORLD, info,
                                &request));
  run_epochs(
      request, 1,
      [&](int) {
        for (std::size_t i = 0; i < in.size(); ++i) in[i] = operand<T>(rank(), i);
      },
      [&](int) {
        for (std::size_t i = 0; i < in.size(); ++i) {
          T expected = operand<T>(0, i);
          for (int from = 1; from < size(); ++from)
            expected = operation.apply(expected, operand<T>(from, i));
          EXPECT_EQ(out[i], expected);
        }
      });
}

template <class T>
void expect_all_reduced(MPI_Datatype type, MPI_Info info) {
  const NamedOperation<T> of_numbers[] = {
      {MPI_SUM, [](T a, T b) { return static_cast<T>(a + b); }},
      {MPI_PROD, [](T a, T b) { return static_cast<T>(a * b); }},
      {MPI_MIN, [](T a, T b) { return std::min(a, b); }},
      {MPI_MAX, [](T a, T b) { return std::max(a, b); }},
  };
  for (const auto& operation : of_numbers) expect_reduced<T>(type, operation, info);
  if constexpr (std::is_integral_v<T>) {
    const NamedOperation<T> of_bits[] = {
        {MPI_BAND, [](T a, T b) { return static_cast<T>(a & b); }},
        {MPI_BOR, [](T a, T b) { return static_cast<T>(a | b); }},
        {MPI_BXOR, [](T a, T b) { return static_cast<T>(a ^ b); }},
    };
    for (const auto& operation : of_bits) expect_reduced<T>(type, operation, info);
  }
}

class CollectiveOperations : public ::testing::TestWithParam<const char*> {};

TEST_P(CollectiveOperations, ReductionsTakeEachOperationAndType) {
  const AlgorithmInfo info(GetParam());
  expect_all_reduced<std::int32_t>(MPI_INT32_T, info.get());
  expect_all_reduced<std::uint32_t>(MPI_UINT32_T, info.get());
  expect_all_reduced<std::int64_t>(MPI_INT64_T, info.get());
  expect_all_reduced<std::uint64_t>(MPI_UINT64_T, info.get());
  expect_all_reduced<float>(MPI_FLOAT, info.get());
  expect_all_reduced<double>(MPI_DOUBLE, info.get());
}
INSTANTIATE_TEST_SUITE_P(Allreduce, CollectiveOperations, ::testing::Values("", "two-shot"));

// ---- Streams

struct CountedSums {
  std::vector<int> data;
  int epoch = 0;
  std::size_t wrong = 0;
};

// Without a synchronisation but now and then: the stream fills, reduces and checks.
void expect_sums_of_epochs(int count, int rounds) {
  const CollectiveQueue queue;
  CountedSums counted;
  counted.data.resize(static_cast<std::size_t>(count));
  MPI_Request request;
  EXPECT_PST(PST_Allreduce_init(MPI_IN_PLACE, counted.data.data(), count, MPI_INT, MPI_SUM,
                                MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  EXPECT_PST(PST_Match(&request, MPI_STATUS_IGNORE));
  for (int round = 0; round < rounds; ++round) {
    launch(
        queue.stream(),
        [](void* argument) {
          auto& own = *static_cast<CountedSums*>(argument);
          std::fill(own.data.begin(), own.data.end(), ++own.epoch * (rank() + 1));
        },
        &counted);
    EXPECT_PST(PST_Enqueue_run(queue.get(), &request));
    launch(
        queue.stream(),
        [](void* argument) {
          auto& own = *static_cast<CountedSums*>(argument);
          for (const int each : own.data)
            if (each != own.epoch * size() * (size() + 1) / 2) ++own.wrong;
        },
        &counted);
    if (round % 1000 == 999) {
      EXPECT_PST(PST_Queue_wait(queue.get()));
    }
  }
  EXPECT_PST(PST_Queue_wait(queue.get()));
  EXPECT_EQ(counted.epoch, rounds);
  EXPECT_EQ(counted.wrong, 0u);
  EXPECT_PST(PST_Request_free(&request));
}

TEST(Collectives, EpochsFollowEachOtherOnTheStream) {
  expect_sums_of_epochs(5, fewer_rounds(1000, 10));
  expect_sums_of_epochs(3000, fewer_rounds(200, 10));
}

TEST(Collectives, SlotsAreUsedAgainForManyEpochs) {
  const bool each_has_a_core = size() <= 2;
  expect_sums_of_epochs(2, fewer_rounds(each_has_a_core ? 100000 : 5000, 100));
}

// Two requests of one communicator on two queues, whose ranks enqueue them in opposite orders, and
// then on each other's.
TEST(Collectives, TwoRequestsOnTwoQueuesInAnyOrder) {
  const CollectiveQueue queues[2];
  std::vector<int> data[2] = {std::vector<int>(300), std::vector<int>(300)};
  MPI_Request requests[2];
  for (int i = 0; i < 2; ++i)
    EXPECT_PST(PST_Allreduce_init(MPI_IN_PLACE, data[i].data(), 300, MPI_INT, MPI_SUM,
                                  MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]));
  if (rank() % 2 == 1) {  // the order of matches is free
    EXPECT_PST(PST_Matchall(2, requests, MPI_STATUSES_IGNORE));
  } else {
    MPI_Request turned[2] = {requests[1], requests[0]};
    EXPECT_PST(PST_Matchall(2, turned, MPI_STATUSES_IGNORE));
  }
  for (int round = 0; round < 20; ++round) {
    for (auto& each : data) std::fill(each.begin(), each.end(), rank() + round);
    for (int i = 0; i < 2; ++i) {
      const int which = (i + rank()) % 2;
      EXPECT_PST(PST_Enqueue_run(queues[(which + round) % 2].get(), &requests[which]));
    }
    for (const CollectiveQueue& queue : queues) EXPECT_PST(PST_Queue_wait(queue.get()));
    const int sum = size() * (size() - 1) / 2 + size() * round;
    for (const auto& each : data) EXPECT_EQ(std::count(each.begin(), each.end(), sum), 300);
  }
  for (MPI_Request& request : requests) EXPECT_PST(PST_Request_free(&request));
}

TEST(Collectives, ServeReversedAndSplitCommunicators) {
  MPI_Comm reversed, half;
  MPI_Comm_split(MPI_COMM_WORLD, 0, size() - rank(), &reversed);
  MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, rank(), &half);
  for (const MPI_Comm comm : {reversed, half}) {
    int own = -1, ranks = 0;
    MPI_Comm_rank(comm, &own);
    MPI_Comm_size(comm, &ranks);
    std::vector<int> in(static_cast<std::size_t>(ranks)), out(in.size());
    MPI_Request request;
    EXPECT_PST(PST_Alltoall_init(in.data(), 1, MPI_INT, out.data(), 1, MPI_INT, comm, MPI_INFO_NULL,
                                 &request));
    run_epochs(
        request, 3,
        [&](int epoch) {
          for (int to = 0; to < ranks; ++to)
            in[static_cast<std::size_t>(to)] = own * 100 + to + epoch;
        },
        [&](int epoch) {
          for (int from = 0; from < ranks; ++from)
            EXPECT_EQ(out[static_cast<std::size_t>(from)], from * 100 + own + epoch);
        });
  }
  MPI_Comm_free(&reversed);
  MPI_Comm_free(&half);
}

// Enqueued in opposite orders, on queues in which each has its place; several are under way at
// once.
TEST(Collectives, ManyRequestsOnSeveralQueues) {
  constexpr std::size_t requests_each = 16;
  const CollectiveQueue queues[4];
  std::vector<MPI_Request> requests[4];
  std::vector<std::int64_t> data(4 * requests_each);
  for (std::size_t i = 0; i < data.size(); ++i)
    EXPECT_PST(PST_Allreduce_init(MPI_IN_PLACE, &data[i], 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD,
                                  MPI_INFO_NULL, &requests[i % 4].emplace_back()));
  for (auto& each : requests)
    EXPECT_PST(PST_Matchall(static_cast<int>(each.size()), each.data(), MPI_STATUSES_IGNORE));
  for (int round = 0; round < 50; ++round) {
    for (std::size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<std::int64_t>(i) * 100 + rank() + round;
    for (auto& each : requests) std::reverse(each.begin(), each.end() - (rank() + round) % 3);
    for (int i = 0; i < 4; ++i) {
      const int which = rank() % 2 == 0 ? i : 3 - i;
      EXPECT_PST(PST_Enqueue_startall(queues[which].get(), requests_each, requests[which].data()));
    }
    for (int i = 0; i < 4; ++i)
      EXPECT_PST(PST_Enqueue_waitall(queues[i].get(), requests_each, requests[i].data()));
    for (const CollectiveQueue& queue : queues) EXPECT_PST(PST_Queue_wait(queue.get()));
    for (std::size_t i = 0; i < data.size(); ++i)
      EXPECT_EQ(data[i],
                size() * (static_cast<std::int64_t>(i) * 100 + round) + size() * (size() - 1) / 2);
  }
  for (auto& each : requests)
    for (MPI_Request& request : each) EXPECT_PST(PST_Request_free(&request));
}

// A rank frees its request as soon as its own wait has ended; what that one has held serves the
// next ones while others still use theirs.
TEST(Collectives, AreFreedWhileOthersStillUseThem) {
  const CollectiveQueue queue;
  std::vector<MPI_Request> old;
  for (int round = 0; round < 100; ++round) {
    const std::size_t count = static_cast<std::size_t>(round) * 7 % 200 + 1;
    std::vector<int> data(count, rank() + round);
    MPI_Request request;
    EXPECT_PST(PST_Allreduce_init(MPI_IN_PLACE, data.data(), static_cast<MPI_Count>(count), MPI_INT,
                                  MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    EXPECT_PST(PST_Match(&request, MPI_STATUS_IGNORE));
    EXPECT_PST(PST_Enqueue_run(queue.get(), &request));
    EXPECT_PST(PST_Queue_wait(queue.get()));
    const int sum = size() * (size() - 1) / 2 + size() * round;
    EXPECT_EQ(std::count(data.begin(), data.end(), sum), static_cast<std::ptrdiff_t>(count));
    old.push_back(request);
    if (old.size() > static_cast<std::size_t>(rank()) * 5) {
      EXPECT_PST(PST_Request_free(&old.front()));
      old.erase(old.begin());
    }
  }
  for (MPI_Request& request : old) EXPECT_PST(PST_Request_free(&request));
}

// A ring of messages whose result all sum up, on one stream.
TEST(Collectives, TakeTurnsWithMessages) {
  const CollectiveQueue queue;
  int sent = 0, received = 0, sum = 0;
  MPI_Request requests[3];
  MPI_Send_init(&sent, 1, MPI_INT, (rank() + 1) % size(), 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(&received, 1, MPI_INT, (rank() + size() - 1) % size(), 0, MPI_COMM_WORLD,
                &requests[1]);
  EXPECT_PST(PST_Allreduce_init(&received, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                                &requests[2]));
  EXPECT_PST(PST_Matchall(3, requests, MPI_STATUSES_IGNORE));
  for (int round = 0; round < 200; ++round) {
    sent = rank() * 10 + round;
    EXPECT_PST(PST_Enqueue_runall(queue.get(), 2, requests));
    EXPECT_PST(PST_Enqueue_run(queue.get(), &requests[2]));
    EXPECT_PST(PST_Queue_wait(queue.get()));
    EXPECT_EQ(sum, size() * (size() - 1) * 5 + size() * round);
  }
  for (MPI_Request& request : requests) EXPECT_PST(PST_Request_free(&request));
}

class CollectiveBarrier : public ::testing::TestWithParam<const char*> {};

TEST_P(CollectiveBarrier, ABarrierEndsWhenAllHaveCome) {
  const AlgorithmInfo info(GetParam());
  MPI_Comm host;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int members = 0;
  MPI_Comm_size(host, &members);
  MPI_Win window;
  int* come = nullptr;
  MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, host, &come, &window);
  *come = -1;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Request request;
  EXPECT_PST(PST_Barrier_init(MPI_COMM_WORLD, info.get(), &request));
  run_epochs(
      request, 50, [&](int epoch) { std::atomic_ref(*come).store(epoch); },
      [&](int epoch) {
        for (int member = 0; member < members; ++member) {
          MPI_Aint bytes = 0;
          int unit = 0;
          int* theirs = nullptr;
          MPI_Win_shared_query(window, member, &bytes, &unit, &theirs);
          EXPECT_GE(std::atomic_ref(*theirs).load(), epoch);
        }
      });
  MPI_Win_free(&window);
  MPI_Comm_free(&host);
}
INSTANTIATE_TEST_SUITE_P(Barrier, CollectiveBarrier,
                         ::testing::Values("", "dissemination", "direct"));

// What is small goes directly, where all share memory and nothing else is asked for.
TEST(Collectives, SmallOnesGoDirectlyOverPeer) {
  int value = 0;
  const auto names = [&](const char* wish) {
    const AlgorithmInfo info(wish);
    MPI_Request request;
    EXPECT_PST(PST_Allreduce_init(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                  info.get(), &request));
    EXPECT_PST(PST_Match(&request, MPI_STATUS_IGNORE));
    char algorithm[32] = "", transport[32] = "";
    EXPECT_PST(PST_Request_algorithm(request, algorithm, sizeof algorithm));
    EXPECT_PST(PST_Request_transport(request, transport, sizeof transport));
    EXPECT_PST(PST_Request_free(&request));
    return std::pair<std::string, std::string>(algorithm, transport);
  };
  const auto asked = names("two-shot");
  EXPECT_EQ(asked.first, "two-shot");
  if (asked.second != "peer") return;
  EXPECT_EQ(names(""), std::make_pair(std::string("one-shot"), std::string("peer")));
}

TEST(Collectives, TellTheirAlgorithm) {
  int value = 0;
  MPI_Request request;
  const AlgorithmInfo info("two-shot");
  EXPECT_PST(PST_Allreduce_init(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                info.get(), &request));
  char name[32] = "";
  EXPECT_PST_KIND(PST_Request_algorithm(request, name, sizeof name), PST_ERROR_NOT_MATCHED);
  EXPECT_PST(PST_Match(&request, MPI_STATUS_IGNORE));
  EXPECT_PST(PST_Request_algorithm(request, name, sizeof name));
  EXPECT_STREQ(name, "two-shot");
  EXPECT_PST(PST_Request_free(&request));
}

}  // namespace
}  // namespace penstock::test
