// SPDX-License-Identifier: Apache-2.0
// Collectives in memory of GPUs, beyond what the suite runs on every device: graphs, changes of
// streams, and memory that a queue does not serve.
#include <algorithm>
#include <numeric>

#include "conformance/collective_blocks.hpp"
#include "cuda/graph.hpp"
#include "support/cuda/kernels.hpp"

namespace penstock::test {
namespace {

class GpuCollectives : public ::testing::TestWithParam<const char*> {
 protected:
  static constexpr std::size_t count = 20011;

  void SetUp() override {
    const AlgorithmInfo info(GetParam());
    EXPECT_PST(PST_Allreduce_init(in_.address(), out_.address(), count, MPI_INT, MPI_SUM,
                                  MPI_COMM_WORLD, info.get(), &request_));
    const int code = PST_Match(&request_, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS) return;
    EXPECT_EQ(kind_of(code), PST_ERROR_UNSUPPORTED) << describe(code);
    MPI_Request_free(&request_);
    GTEST_SKIP() << describe(code);
  }
  void TearDown() override {
    if (request_ != MPI_REQUEST_NULL) {
      EXPECT_PST(PST_Request_free(&request_));
    }
  }
  void fill(int epoch) {
    std::iota(in_.numbers<int>(), in_.numbers<int>() + count, rank() + epoch);
    in_.to_device();
    out_.clear();
    out_.to_device();
  }
  void check(int epoch) {
    out_.from_device();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const int sum = size() * (size() - 1) / 2 + size() * (epoch + static_cast<int>(i));
      if (out_.numbers<int>()[i] != sum) ++wrong;
    }
    EXPECT_EQ(wrong, 0u) << "epoch " << epoch;
    EXPECT_TRUE(out_.borders_hold());
  }

  GuardedBlock in_{count * sizeof(int), false}, out_{count * sizeof(int), false};
  MPI_Request request_ = MPI_REQUEST_NULL;
};

// G8, G10: a graph holds three epochs, the calls around it one each.
TEST_P(GpuCollectives, GraphsReplayThem) {
  Lane lane;
  Graph graph(lane.stream(), [&] {
    for (int i = 0; i < 3; ++i) EXPECT_PST(PST_Enqueue_run(lane.queue(), &request_));
  });
  for (int epoch = 0; epoch < 20; ++epoch) {
    fill(epoch);
    if (epoch % 3 == 0)
      EXPECT_PST(PST_Enqueue_run(lane.queue(), &request_));
    else
      graph.launch();
    lane.finish();
    check(epoch);
  }
}

TEST_P(GpuCollectives, ChangeStreamsBetweenEpochs) {
  Lane lanes[3];
  for (int epoch = 0; epoch < 20; ++epoch) {
    fill(epoch);
    EXPECT_PST(PST_Enqueue_run(lanes[epoch % 3].queue(), &request_));
    EXPECT_PST(PST_Enqueue_run(lanes[(epoch + 1) % 3].queue(), &request_));
    lanes[epoch % 3].finish();
    lanes[(epoch + 1) % 3].finish();
    check(epoch);
  }
}

// What follows on the stream finds the result, and the next epoch what was written behind it.
TEST_P(GpuCollectives, AreInTheOrderOfTheStream) {
  Lane lane;
  std::fill_n(in_.numbers<int>(), count, 1);
  in_.to_device();
  for (int epoch = 0; epoch < 3; ++epoch) {
    enqueue_delay(lane, 200u * static_cast<unsigned>(rank() + 1));
    EXPECT_PST(PST_Enqueue_run(lane.queue(), &request_));
    enqueue_copy(lane.stream(), in_.address(), out_.address(), count * sizeof(int));
  }
  lane.finish();
  out_.from_device();
  const int expected = size() * size() * size();
  EXPECT_EQ(std::count(out_.numbers<int>(), out_.numbers<int>() + count, expected),
            static_cast<std::ptrdiff_t>(count));
}
// A program's own kernel may be launched as a dependent one. What the others still wait for needs a
// place on the device, where ranks share it.
TEST_P(GpuCollectives, WhatDependsOnThemTakesNoPlaceBeforeTheirEnd) {
  Lane lane;
  fill(0);
  if (rank() == size() - 1) enqueue_delay(lane, 10000);
  EXPECT_PST(PST_Enqueue_run(lane.queue(), &request_));
  enqueue_dependent(lane.stream());
  lane.finish();
  check(0);
}
// The others' waits end by an error, and their streams go on.
TEST_P(GpuCollectives, AMemberThatFreesItsPartEndsTheOthersWaits) {
  if (size() < 2) GTEST_SKIP() << "needs two ranks";
  if (rank() == 0) {
    EXPECT_PST(PST_Request_free(&request_));
  } else {
    BrokenLane lane;
    int code = PST_Enqueue_run(lane.queue(), &request_);
    if (code == MPI_SUCCESS) code = PST_Queue_wait(lane.queue());
    EXPECT_EQ(kind_of(code), PST_ERROR_PEER_FREED) << describe(code);
  }
  meet();
}
INSTANTIATE_TEST_SUITE_P(Allreduce, GpuCollectives,
                         ::testing::Values("two-shot", "doubling", "lanes", "one-shot"));

// Aligned messages have kernels of their own, and so have those in lines of 128 bytes, which carry
// 120: sizes around whole ones, up to what a warp has several of. Each byte of two epochs.
// False: the ranks cannot exchange directly.
bool exchange_aligned(std::size_t bytes, bool in_place) {
  const AlgorithmInfo info("direct");
  const auto all = bytes * static_cast<std::size_t>(size());
  GuardedBlock in(all, false), out(all, false);
  const auto byte_of = [](int from, int to, int epoch, std::size_t at) {
    return static_cast<unsigned char>(7 * from + 31 * to + 101 * epoch +
                                      static_cast<int>(at % 251));
  };
  GuardedBlock& sent = in_place ? out : in;
  MPI_Request request;
  EXPECT_PST(PST_Alltoall_init(in_place ? MPI_IN_PLACE : in.address(),
                               static_cast<MPI_Count>(bytes), MPI_BYTE, out.address(),
                               static_cast<MPI_Count>(bytes), MPI_BYTE, MPI_COMM_WORLD, info.get(),
                               &request));
  EXPECT_PST(PST_Match(&request, MPI_STATUS_IGNORE));
  Lane lane;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (std::size_t i = 0; i < all; ++i)
      sent.numbers<unsigned char>()[i] =
          byte_of(rank(), static_cast<int>(i / bytes), epoch, i % bytes);
    sent.to_device();
    EXPECT_PST(PST_Enqueue_run(lane.queue(), &request));
    lane.finish();
    out.from_device();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < all; ++i)
      wrong += out.numbers<unsigned char>()[i] !=
               byte_of(static_cast<int>(i / bytes), rank(), epoch, i % bytes);
    EXPECT_EQ(wrong, 0u) << bytes << " bytes, epoch " << epoch << (in_place ? ", in place" : "");
    EXPECT_TRUE(out.borders_hold());
  }
  meet();
  EXPECT_PST(PST_Request_free(&request));
  return true;
}

TEST(GpuDirectExchange, BringsEachByteOfAlignedMessages) {
  if (size() < 2) GTEST_SKIP() << "needs two ranks";
  for (const std::size_t bytes : {8, 119, 120, 121, 4804, 262144, 1048577, 3000000})
    for (const bool in_place : {false, true})
      if (!exchange_aligned(bytes, in_place)) GTEST_SKIP() << "not by this transport";
}

TEST(GpuCollectivesErrors, BuffersOfTwoKindsAreAnErrorOfAll) {
  GuardedBlock out(sizeof(int), false);
  int in = 1;
  MPI_Request request;
  const bool odd = rank() == size() - 1;
  EXPECT_PST(PST_Allreduce_init(odd ? static_cast<const void*>(&in) : MPI_IN_PLACE, out.address(),
                                1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  EXPECT_PST_KIND(PST_Match(&request, MPI_STATUS_IGNORE), PST_ERROR_UNSUPPORTED);
  EXPECT_PST(PST_Request_free(&request));
}

TEST(GpuCollectivesErrors, SumsOfTheHostStayOnItsQueues) {
  int value = 1;
  MPI_Request request;
  EXPECT_PST(PST_Allreduce_init(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                MPI_INFO_NULL, &request));
  EXPECT_PST(PST_Match(&request, MPI_STATUS_IGNORE));
  Lane lane;
  EXPECT_PST_KIND(PST_Enqueue_start(lane.queue(), &request), PST_ERROR_UNSUPPORTED);
  meet();  // who frees its part ends the others'
  EXPECT_PST(PST_Request_free(&request));
}

TEST(GpuCollectivesErrors, SumsOfAGpuStayOnItsQueues) {
  GuardedBlock value(sizeof(int), false);
  MPI_Request request;
  EXPECT_PST(PST_Allreduce_init(MPI_IN_PLACE, value.address(), 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                MPI_INFO_NULL, &request));
  EXPECT_PST(PST_Match(&request, MPI_STATUS_IGNORE));
  PST_Stream stream{};
  PST_Queue queue = PST_QUEUE_NULL;
  EXPECT_PST(PST_Stream_create(&stream));
  EXPECT_PST(PST_Queue_init(&queue, PST_QUEUE_HOST, &stream));
  EXPECT_PST_KIND(PST_Enqueue_start(queue, &request), PST_ERROR_UNSUPPORTED);
  EXPECT_PST(PST_Queue_free(&queue));
  EXPECT_PST(PST_Stream_free(&stream));
  meet();
  EXPECT_PST(PST_Request_free(&request));
}

}  // namespace
}  // namespace penstock::test
