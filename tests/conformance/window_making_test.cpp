// SPDX-License-Identifier: Apache-2.0
// How windows are made, shared by threads, and freed.
#include "conformance/window.hpp"
#include "support/rounds.hpp"

#include <atomic>
#include <functional>
#include <thread>

namespace penstock::test {
namespace {

// A window is freed while the peer is still in its last epoch; the next one takes its place.
TEST(Windows, R19_ANewWindowInThePlaceOfAFreedOne) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  for (int round = 0; round < (size() > 2 ? 4 : 20); ++round) {
    Window window(64);
    Lane lane;
    std::vector<Number> source(64, stamp(rank(), static_cast<unsigned>(round), 0));
    window.post(lane, {previous_rank()});
    window.start({next_rank()});
    window.put(source.data(), 64, next_rank(), 0);
    window.complete(lane);
    window.wait(lane);
    if (rank() % 2 == 0) enqueue_delay(lane, 500);
    EXPECT_EQ(MPI_Win_free(&window.handle()), MPI_SUCCESS);
    EXPECT_EQ(window.win(), MPI_WIN_NULL);
    lane.finish();
  }
}

// MPI's messages move while a window is freed, as in any call that waits.
TEST(Windows, FreeingDrivesMpi) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  constexpr int many = 4 << 20;
  std::vector<int> numbers(many, rank());
  Window window(1);
  Lane lane;
  if (partner() == rank()) {
    EXPECT_EQ(MPI_Win_free(&window.handle()), MPI_SUCCESS);
  } else if (rank() % 2 == 0) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(numbers.data(), many, MPI_INT, partner(), 7, MPI_COMM_WORLD, &request);
    window.post(lane, {partner()});
    window.wait(lane);
    EXPECT_EQ(MPI_Win_free(&window.handle()), MPI_SUCCESS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(numbers.back(), partner());
  } else {
    MPI_Send(numbers.data(), many, MPI_INT, partner(), 7, MPI_COMM_WORLD);
    window.start({partner()});
    window.complete(lane);
    EXPECT_EQ(MPI_Win_free(&window.handle()), MPI_SUCCESS);
  }
  lane.finish();
  meet();
}

// MPICH tells the base of such memory rounded down.
TEST(Windows, MemoryMayBeginAnywhere) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  if (size() == 1) GTEST_SKIP() << "Open MPI has no MPI_Win_create for one process alone";
  std::vector<Number> memory(16, 0);
  auto* const base = reinterpret_cast<char*>(memory.data()) + 9;
  for (const bool attached_later : {false, true}) {
    MPI_Win win = MPI_WIN_NULL;
    if (attached_later) {
      MPI_Win_create(base, 50, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
      EXPECT_PST(PST_Win_attach(win));
    } else {
      EXPECT_PST(PST_Win_create(base, 50, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    }
    Lane lane;
    const Group left({previous_rank()}), right({next_rank()});
    const char letter = attached_later ? 'b' : 'a';
    EXPECT_PST(PST_Win_post_stream(left, 0, win, lane.queue()));
    EXPECT_PST(PST_Win_start(right, 0, win));
    EXPECT_PST(PST_Put(&letter, 1, MPI_CHAR, next_rank(), 1, 1, MPI_CHAR, win));
    EXPECT_PST(PST_Win_complete_stream(win, lane.queue()));
    EXPECT_PST(PST_Win_wait_stream(win, lane.queue()));
    lane.finish();
    EXPECT_EQ(base[1], letter);
    EXPECT_EQ(base[0], 0);
    EXPECT_EQ(MPI_Win_free(&win), MPI_SUCCESS);
  }
}

bool threads_may_call_mpi() {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  return level == MPI_THREAD_MULTIPLE;
}

// As MPI lets them.
TEST(Windows, SeveralThreadsPutIntoOneEpoch) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  if (!threads_may_call_mpi()) GTEST_SKIP() << "needs MPI_THREAD_MULTIPLE";
  constexpr std::size_t threads = 3, each = 400;
  Window window(threads * each);
  Lane lane;
  std::vector<Number> source(threads * each);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = stamp(rank(), 1, i);
  window.post(lane, {previous_rank()});
  window.start({next_rank()});
  const int target = next_rank();
  std::vector<std::thread> putting;
  for (std::size_t thread = 0; thread < threads; ++thread)
    putting.emplace_back([&, thread] {
      for (std::size_t i = thread * each; i < (thread + 1) * each; ++i)
        window.put(&source[i], 1, target, i);
    });
  for (std::thread& thread : putting) thread.join();
  window.complete(lane);
  window.wait(lane);
  lane.finish();
  for (std::size_t i = 0; i < source.size(); ++i)
    ASSERT_EQ(window.numbers()[i], stamp(previous_rank(), 1, i));
}

// Each thread over a communicator of its own.
TEST(Windows, SeveralThreadsMakeWindowsAtOnce) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  if (!threads_may_call_mpi()) GTEST_SKIP() << "needs MPI_THREAD_MULTIPLE";
  constexpr int threads = 3;
  const int rounds =
      size() > 2 ? 3 : fewer_rounds(30, 3);  // more ranks than cores take long to make one
  const int self = rank(), left = previous_rank(), right = next_rank();
  std::atomic<int> wrong = 0;
  std::vector<MPI_Comm> comms(threads);
  for (MPI_Comm& comm : comms) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::vector<std::thread> making;
  for (int thread = 0; thread < threads; ++thread)
    making.emplace_back([&, thread] {
      PST_Stream stream = PST_STREAM_NULL;
      PST_Queue queue = PST_QUEUE_NULL;
      wrong += PST_Stream_create(&stream) + PST_Queue_init(&queue, PST_QUEUE_HOST, &stream);
      for (int round = 0; round < rounds; ++round) {
        Number* base = nullptr;
        MPI_Win win = MPI_WIN_NULL;
        wrong += PST_Win_allocate(8 * (thread + 1), 8, MPI_INFO_NULL,
                                  comms[static_cast<std::size_t>(thread)], &base, &win);
        const Number value = stamp(self, static_cast<unsigned>(round), thread);
        const Group from({left}), to({right});
        wrong += PST_Win_post_stream(from, 0, win, queue) + PST_Win_start(to, 0, win) +
                 PST_Put(&value, 1, MPI_UINT64_T, right, thread, 1, MPI_UINT64_T, win) +
                 PST_Win_complete_stream(win, queue) + PST_Win_wait_stream(win, queue) +
                 PST_Queue_wait(queue);
        wrong += base[thread] != stamp(left, static_cast<unsigned>(round), thread);
        wrong += PST_Win_free(&win);
      }
      wrong += PST_Queue_free(&queue) + PST_Stream_free(&stream);
    });
  for (std::thread& thread : making) thread.join();
  for (MPI_Comm& comm : comms) MPI_Comm_free(&comm);
  EXPECT_EQ(wrong, 0);
}

// An epoch around the ring, on a window of two numbers.
void pass_a_number(MPI_Win win, const Number* base) {
  Lane lane;
  const Number seven = 7;
  const Group left({previous_rank()}), right({next_rank()});
  EXPECT_PST(PST_Win_post_stream(left, 0, win, lane.queue()));
  EXPECT_PST(MPI_Win_start(right, PST_MODE_STREAM, win));
  EXPECT_PST(MPI_Put(&seven, 1, MPI_UINT64_T, next_rank(), 1, 1, MPI_UINT64_T, win));
  EXPECT_PST(PST_Win_complete_stream(win, lane.queue()));
  EXPECT_PST(PST_Win_wait_stream(win, lane.queue()));
  lane.finish();
  EXPECT_EQ(base[1], 7U);
}

// What PENSTOCK_RMA=1 does, in the run that sets it.
TEST(Windows, TakeStreamsFromTheirCreation) {
  const char* const setting = std::getenv("PENSTOCK_RMA");
  if (!windows_served() || setting == nullptr) GTEST_SKIP() << "PENSTOCK_RMA is not set";
  constexpr MPI_Aint bytes = 2 * sizeof(Number);
  Number memory[2] = {0, 0};
  const auto create = [&](MPI_Win* win) {
    MPI_Win_create(memory, bytes, sizeof(Number), MPI_INFO_NULL, MPI_COMM_WORLD, win);
    return memory;
  };
  const auto allocate = [&](MPI_Win* win) {
    Number* base = nullptr;
    MPI_Win_allocate(bytes, sizeof(Number), MPI_INFO_NULL, MPI_COMM_WORLD, &base, win);
    return base;
  };
  std::vector<std::function<Number*(MPI_Win*)>> makers{allocate};
  if (size() > 1) makers.emplace_back(create);  // Open MPI has no MPI_Win_create for one process
#if MPI_VERSION >= 4
  makers.emplace_back([&](MPI_Win* win) {
    MPI_Win_create_c(memory, bytes, sizeof(Number), MPI_INFO_NULL, MPI_COMM_WORLD, win);
    return memory;
  });
#endif
  for (const auto& make : makers) {
    memory[1] = 0;
    MPI_Win win = MPI_WIN_NULL;
    const Number* const base = make(&win);
    pass_a_number(win, base);
    EXPECT_EQ(MPI_Win_free(&win), MPI_SUCCESS);
  }
}

}  // namespace
}  // namespace penstock::test
