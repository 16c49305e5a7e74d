// SPDX-License-Identifier: Apache-2.0
// Windows in GPU memory: what only they have. R numbers are those of docs/rma.md.
#include "conformance/window.hpp"

#include <penstock/mpix.h>

#include <cstdlib>

#include "cuda/graph.hpp"
#include "support/cuda/expect.hpp"
#include "support/cuda/kernels.hpp"

namespace penstock::test {
namespace {

// Epochs around the ring, whose functions count them: so a graph may hold some, too.
class Ring {
 public:
  explicit Ring(std::size_t count) : window_(count), source_(count) {}

  Lane& lane() { return lane_; }
  void enqueue() {
    window_.post(lane_, {left_});
    window_.start({right_});
    window_.put(source_.data(), source_.size(), right_, 0);
    script_.run(lane_, [this] {
      ++sent_;
      for (std::size_t i = 0; i < source_.size(); ++i) source_[i] = stamp(self_, sent_, i);
    });
    source_.send(lane_);
    window_.complete(lane_);
    window_.wait(lane_);
    window_.fetch(lane_);
    script_.run(lane_, [this] {
      ++seen_;
      for (std::size_t i = 0; i < source_.size(); ++i)
        wrong_ += window_.numbers()[i] != stamp(left_, seen_, i);
    });
  }
  void expect_good(std::uint64_t epochs) {
    lane_.finish();
    EXPECT_EQ(seen_, epochs);
    EXPECT_EQ(wrong_, 0U);
  }

 private:
  const int left_ = previous_rank(), right_ = next_rank(), self_ = rank();
  Window window_;
  Numbers source_;
  Script script_;
  std::uint64_t sent_ = 0, seen_ = 0, wrong_ = 0;  // the stream's functions'
  Lane lane_;
};

// A program's own kernel may be launched as a dependent one behind a wait. Its blocks would be
// enough for the whole device.
TEST(CudaWindows, WhatDependsOnAWaitTakesNoPlaceBeforeItsEnd) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  const int left = previous_rank(), right = next_rank();
  for (const std::size_t count : {std::size_t{3}, std::size_t{1} << 17}) {
    Window window(count);
    Numbers source(count);
    source.fill(static_cast<Number>(rank()) + 1);
    source.send();
    Lane exposing, putting;
    window.post(exposing, {left});
    window.wait(exposing);
    enqueue_dependent(exposing.stream());
    window.fetch(exposing);
    enqueue_delay(putting, 10000);
    window.start({right});
    window.put(source.data(), count, right, 0);
    window.complete(putting);
    exposing.finish();
    putting.finish();
    EXPECT_EQ(std::ranges::count(window.numbers(), static_cast<Number>(left) + 1),
              static_cast<std::ptrdiff_t>(count));
  }
}

// As in the paper's listing: the calls name the stream, whose own queue is behind them.
TEST(CudaWindows, R1_ByThePapersNamesOnAStream) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  const int left = previous_rank(), right = next_rank();
  const Stream stream = make_stream(), other = make_stream();
  Window window(1);
  Numbers source(1);
  const Group origins({left}), targets({right});
  std::uint64_t sum = 0;
  for (Number step = 1; step <= 100; ++step) {
    source.mirror()[0] = step;
    copy_bytes(reinterpret_cast<std::byte*>(source.data()),
               reinterpret_cast<const std::byte*>(source.mirror().data()), sizeof(Number));
    EXPECT_PST(MPIX_Win_post_stream(origins, window.win(), stream));
    EXPECT_PST(MPI_Win_start(targets, MPIX_MODE_STREAM, window.win()));
    window.put(source.data(), 1, right, 0);
    EXPECT_PST(MPIX_Win_complete_stream(window.win(), stream));
    EXPECT_PST(MPIX_Win_wait_stream(window.win(), stream));
    EXPECT_CUDA(cudaStreamSynchronize(stream));
    sum += window.fetched()[0];
  }
  EXPECT_EQ(sum, 5050U);
  PST_Queue own = PST_QUEUE_NULL, again = PST_QUEUE_NULL, of_other = PST_QUEUE_NULL;
  EXPECT_PST(PST_Stream_queue(stream, &own));
  EXPECT_PST(PST_Stream_queue(stream, &again));
  EXPECT_PST(PST_Stream_queue(other, &of_other));
  EXPECT_EQ(own, again);
  EXPECT_NE(own, of_other);
  EXPECT_PST(PST_Queue_wait(own));
  EXPECT_PST(PST_Queue_free(&again));
  EXPECT_PST(PST_Stream_queue(stream, &again));
  EXPECT_NE(own, again);
  EXPECT_PST(PST_Queue_free(&again));
  EXPECT_PST(PST_Queue_free(&of_other));
  free_stream(stream);
  free_stream(other);
}

TEST(CudaWindows, R15_GraphsMixedWithPlainEpochs) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  for (const std::size_t count : {std::size_t{1}, std::size_t{700}, std::size_t{50000}}) {
    Ring ring(count);
    const auto epochs_of = [&](int epochs) {
      return [&ring, epochs] {
        for (int i = 0; i < epochs; ++i) ring.enqueue();
      };
    };
    Graph one(ring.lane().stream(), epochs_of(1)), three(ring.lane().stream(), epochs_of(3));
    for (int i = 0; i < 20; ++i) {
      one.launch();
      if (i % 2 == 0) ring.enqueue();
      three.launch();
    }
    ring.expect_good(20 + 10 + 60);
  }
}

// More than a launch carries, of all three kinds: the accumulates keep their order.
TEST(CudaWindows, ListsLongerThanALaunch) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  constexpr std::size_t pieces = 250, each = 40, total = pieces * each;
  Window window(total + 2);
  Lane lane;
  Numbers source(total), taken(pieces), summands(2);
  summands[0] = 3;
  summands[1] = 5;
  summands.send();
  for (std::uint64_t epoch = 1; epoch <= 5; ++epoch) {
    for (std::size_t i = 0; i < total; ++i) source[i] = stamp(rank(), epoch, i);
    source.send();
    window.post(lane, {previous_rank()});
    window.start({next_rank()});
    for (std::size_t i = 0; i < pieces; ++i) {
      window.put(source.data() + i * each, each, next_rank(), i * each);
      if (i % 100 == 50) window.add(summands.data(), 2, next_rank(), total);
    }
    window.complete(lane);
    window.wait(lane);
    lane.finish();
    const auto numbers = window.fetched();
    for (std::size_t i = 0; i < total; ++i)
      ASSERT_EQ(numbers[i], stamp(previous_rank(), epoch, i)) << i;
    EXPECT_EQ(numbers[total], 6 * epoch);
    EXPECT_EQ(numbers[total + 1], 10 * epoch);
    meet();
    window.post(lane, {previous_rank()});
    window.start({next_rank()});
    for (std::size_t i = 0; i < pieces; ++i) window.get(taken.data() + i, 1, next_rank(), i * each);
    window.complete(lane);
    window.wait(lane);
    lane.finish();
    taken.fetch();
    for (std::size_t i = 0; i < pieces; ++i)
      ASSERT_EQ(taken[i], stamp(rank(), epoch, i * each)) << i;
    meet();
  }
}

// Pieces that begin and end anywhere.
TEST(CudaWindows, BytesAtAnyAddress) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  constexpr int bytes = 100000;
  Window window(bytes / sizeof(Number) + 1);
  Lane lane;
  Numbers source(bytes / sizeof(Number) + 1);
  auto* const from = reinterpret_cast<unsigned char*>(source.mirror().data());
  for (int i = 0; i < bytes; ++i) from[i] = static_cast<unsigned char>(i * 7 + rank());
  source.send();
  const auto* const origin = reinterpret_cast<const unsigned char*>(source.data());
  const auto put = [&](int count, int at, int unit) {
    EXPECT_PST(
        MPI_Put(origin + at, count, MPI_BYTE, next_rank(), unit, count, MPI_BYTE, window.win()));
  };
  // Displacements are in numbers, so it is the origins that are at any address.
  window.post(lane, {previous_rank()});
  window.start({next_rank()});
  put(1, 3, 0);
  put(77, 5, 1);
  put(4001, 6, 20);
  put(70001, 11, 1000);
  window.complete(lane);
  window.wait(lane);
  lane.finish();
  const auto* const got = reinterpret_cast<const unsigned char*>(window.fetched().data());
  const auto expect = [&](int count, int at, int unit) {
    for (int i = 0; i < count; ++i)
      ASSERT_EQ(got[8 * unit + i], static_cast<unsigned char>((at + i) * 7 + previous_rank()));
    EXPECT_EQ(got[8 * unit + count], 0);
  };
  expect(1, 3, 0);
  expect(77, 5, 1);
  expect(4001, 6, 20);
  expect(70001, 11, 1000);
}

// A rank that exposes nothing takes part all the same.
TEST(CudaWindows, AMemberWithoutMemory) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  if (size() == 1) GTEST_SKIP() << "Open MPI has no MPI_Win_create for one process alone";
  const bool exposes = rank() != 0;
  Numbers memory(4), seven(1);
  seven.fill(7);
  seven.send();
  MPI_Win win = MPI_WIN_NULL;
  EXPECT_PST(PST_Win_create(exposes ? memory.data() : nullptr, exposes ? 32 : 0, sizeof(Number),
                            MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  Lane lane;
  const Group left({previous_rank()}), right({next_rank()});
  EXPECT_PST(PST_Win_post_stream(left, 0, win, lane.queue()));
  EXPECT_PST(PST_Win_start(right, 0, win));
  if (next_rank() != 0)
    EXPECT_PST(PST_Put(seven.data(), 1, MPI_UINT64_T, next_rank(), 1, 1, MPI_UINT64_T, win));
  EXPECT_PST(PST_Win_complete_stream(win, lane.queue()));
  EXPECT_PST(PST_Win_wait_stream(win, lane.queue()));
  lane.finish();
  memory.fetch();
  EXPECT_EQ(memory[1], exposes ? 7U : 0U);
  EXPECT_PST(PST_Win_free(&win));
}

// R23: what kernels cannot do is refused at the call, and the epoch goes on without it.
TEST(CudaWindows, R23_MemoryAndStreams) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  Window window(4);
  Lane lane;
  Numbers seven(1);
  seven.fill(7);
  seven.send();
  const Number on_host = 1;
  PST_Stream stream = PST_STREAM_NULL;
  PST_Queue host_queue = PST_QUEUE_NULL;
  EXPECT_PST(PST_Stream_create(&stream));
  EXPECT_PST(PST_Queue_init(&host_queue, PST_QUEUE_HOST, &stream));
  const Group self({rank()});
  EXPECT_PST_KIND(PST_Win_post_stream(self, 0, window.win(), host_queue), PST_ERROR_UNSUPPORTED);
  window.post(lane, {rank()});
  window.start({rank()});
  EXPECT_PST_KIND(PST_Win_complete_stream(window.win(), host_queue), PST_ERROR_UNSUPPORTED);
  EXPECT_PST_KIND(MPI_Put(&on_host, 1, MPI_UINT64_T, rank(), 0, 1, MPI_UINT64_T, window.win()),
                  PST_ERROR_UNSUPPORTED);
  EXPECT_NE(last_error().find("origin"), std::string::npos) << last_error();
  window.put(seven.data(), 1, rank(), 2);
  window.complete(lane);
  window.wait(lane);
  lane.finish();
  EXPECT_EQ(window.fetched()[2], 7U);
  EXPECT_PST(PST_Queue_free(&host_queue));
  EXPECT_PST(PST_Stream_free(&stream));
}

TEST(CudaWindows, R23_MemoryThatNoOtherProcessCanMap) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  if (size() == 1) GTEST_SKIP() << "Open MPI has no MPI_Win_create for one process alone";
  Numbers numbers(4, Memory::allocated);
  MPI_Win win = MPI_WIN_NULL;
  EXPECT_PST_KIND(
      PST_Win_create(numbers.data(), 32, sizeof(Number), MPI_INFO_NULL, MPI_COMM_WORLD, &win),
      PST_ERROR_TRANSPORT);
  EXPECT_NE(last_error().find("cudaMalloc"), std::string::npos) << last_error();
}

// Run with PENSTOCK_TIMEOUT set to a second or so: a complete behind a wait that is released moves
// nothing, and the target's wait fails.
TEST(CudaWindows, R20_AFailedQueueSendsNothingOn) {
  if (std::getenv("PENSTOCK_TEST_RELEASE") == nullptr) GTEST_SKIP() << "needs PENSTOCK_TIMEOUT";
  if (partner() == rank()) GTEST_SKIP() << "it would wait for itself";
  for (const std::size_t count : {std::size_t{4}, std::size_t{50000}}) {
    Window never(1), window(count);
    Numbers source(count);
    source.fill(9);
    source.send();
    BrokenLane lane;
    if (rank() % 2 == 0) {
      never.post(lane, {partner()});
      never.wait(lane);
      window.start({partner()});
      window.put(source.data(), count, partner(), 0);
      window.complete(lane);
    } else {
      window.post(lane, {partner()});
      window.wait(lane);
    }
    EXPECT_NE(PST_Queue_wait(lane.queue()), MPI_SUCCESS);
    for (const Number number : window.fetched()) ASSERT_EQ(number, 0U);
    meet();
  }
}

}  // namespace
}  // namespace penstock::test
