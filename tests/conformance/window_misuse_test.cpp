// SPDX-License-Identifier: Apache-2.0
// R23 of docs/rma.md: misuse of windows and epochs is an error at the call, with nothing enqueued
// behind it.
#include "conformance/window.hpp"

namespace penstock::test {
namespace {

TEST(Windows, R23_EpochErrors) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  Window window(8);
  Lane lane, other;
  Number number = 1;
  const Group self({rank()}), next({next_rank()}), nobody({});
  EXPECT_PST_KIND(PST_Win_complete_stream(window.win(), lane.queue()), PST_ERROR_EPOCH);
  EXPECT_PST_KIND(PST_Win_wait_stream(window.win(), lane.queue()), PST_ERROR_EPOCH);
  EXPECT_PST_KIND(PST_Put(&number, 1, MPI_UINT64_T, 0, 0, 1, MPI_UINT64_T, window.win()),
                  PST_ERROR_EPOCH);
  window.start({rank()});
  EXPECT_PST_KIND(PST_Win_start(self, 0, window.win()), PST_ERROR_EPOCH);
  EXPECT_PST_KIND(MPI_Win_complete(window.win()), PST_ERROR_EPOCH);
  EXPECT_PST_KIND(MPI_Win_fence(0, window.win()), PST_ERROR_EPOCH);
  EXPECT_PST_KIND(MPI_Win_lock_all(0, window.win()), PST_ERROR_EPOCH);
  EXPECT_PST_KIND(MPI_Win_free(&window.handle()), PST_ERROR_EPOCH);
  EXPECT_PST_KIND(PST_Win_complete_stream(window.win(), lane.queue()),
                  PST_ERROR_EPOCH);  // to itself
  if (size() > 1)
    EXPECT_PST_KIND(
        MPI_Put(&number, 1, MPI_UINT64_T, next_rank(), 0, 1, MPI_UINT64_T, window.win()),
        PST_ERROR_EPOCH);
  EXPECT_PST_KIND(MPI_Put(&number, 1, MPI_UINT64_T, size(), 0, 1, MPI_UINT64_T, window.win()),
                  PST_ERROR_EPOCH);
  EXPECT_PST_KIND(MPI_Put(&number, 1, MPI_UINT64_T, rank(), 8, 1, MPI_UINT64_T, window.win()),
                  PST_ERROR_RANGE);
  EXPECT_PST_KIND(MPI_Put(&number, 1, MPI_UINT64_T, rank(), -1, 1, MPI_UINT64_T, window.win()),
                  PST_ERROR_RANGE);
  EXPECT_PST_KIND(
      MPI_Put(&number, 1, MPI_UINT64_T, rank(), MPI_Aint{1} << 61, 1, MPI_UINT64_T, window.win()),
      PST_ERROR_RANGE);
  EXPECT_PST_KIND(MPI_Put(&number, 1, MPI_UINT64_T, rank(), 0, 1, MPI_INT, window.win()),
                  PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(MPI_Put(&number, -1, MPI_UINT64_T, rank(), 0, 1, MPI_INT, window.win()),
                  PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(
      MPI_Accumulate(&number, 1, MPI_CHAR, rank(), 0, 1, MPI_CHAR, MPI_SUM, window.win()),
      PST_ERROR_UNSUPPORTED);
  EXPECT_PST_KIND(
      MPI_Fetch_and_op(&number, &number, MPI_UINT64_T, rank(), 0, MPI_SUM, window.win()),
      PST_ERROR_UNSUPPORTED);
#if MPI_VERSION >= 4
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_PST_KIND(
      MPI_Rput_c(&number, 1, MPI_UINT64_T, rank(), 0, 1, MPI_UINT64_T, window.win(), &request),
      PST_ERROR_UNSUPPORTED);
#endif
  // The window and the queue are as they were.
  window.post(lane, {rank()});
  EXPECT_PST_KIND(PST_Win_post_stream(self, 0, window.win(), lane.queue()), PST_ERROR_EPOCH);
  window.put(&number, 1, rank(), 3);
  window.complete(lane);
  EXPECT_PST_KIND(PST_Win_wait_stream(window.win(), other.queue()), PST_ERROR_WRONG_QUEUE);
  PST_Queue queue = lane.queue();
  EXPECT_PST_KIND(PST_Queue_free(&queue), PST_ERROR_IN_USE);
  EXPECT_PST(PST_Queue_wait(lane.queue()));  // which closes no epoch
  EXPECT_PST(PST_Enqueue_wait_outstanding(lane.queue()));
  int idle = 0;
  EXPECT_PST(PST_Queue_test(lane.queue(), &idle));
  EXPECT_EQ(idle, 1);
  window.wait(lane);
  lane.finish();
  EXPECT_EQ(window.numbers()[3], 1U);
}

TEST(Windows, R23_EpochsOfMpisOwn) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  if (size() == 1) GTEST_SKIP() << "Open MPI has no MPI_Win_create for one process alone";
  Window window(4, Memory::ordinary);
  MPI_Win_set_errhandler(window.win(), MPI_ERRORS_RETURN);
  Lane lane;
  const Group right({next_rank()});
  ASSERT_EQ(MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, window.win()), MPI_SUCCESS);
  EXPECT_PST_KIND(MPI_Win_start(right, PST_MODE_STREAM, window.win()), PST_ERROR_EPOCH);
  EXPECT_PST_KIND(PST_Win_post_stream(right, 0, window.win(), lane.queue()), PST_ERROR_EPOCH);
  EXPECT_PST_KIND(MPI_Win_free(&window.handle()), PST_ERROR_EPOCH);
  ASSERT_EQ(MPI_Win_unlock(next_rank(), window.win()), MPI_SUCCESS);
  // The window is as it was.
  const Number seven = 7;
  window.post(lane, {previous_rank()});
  window.start({next_rank()});
  window.put(&seven, 1, next_rank(), 2);
  window.complete(lane);
  window.wait(lane);
  lane.finish();
  EXPECT_EQ(window.numbers()[2], 7U);
}

TEST(Windows, R23_WindowErrors) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  // Open MPI has no MPI_Win_create for one process alone.
  Number memory = 0;
  void* base = nullptr;
  MPI_Win plain = MPI_WIN_NULL;
  MPI_Win_allocate(sizeof memory, sizeof memory, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &plain);
  MPI_Win_set_errhandler(plain, MPI_ERRORS_RETURN);
  Lane lane;
  const Group self({rank()});
  EXPECT_PST_KIND(PST_Win_post_stream(self, 0, plain, lane.queue()), PST_ERROR_WINDOW);
  EXPECT_PST_KIND(PST_Win_complete_stream(plain, lane.queue()), PST_ERROR_WINDOW);
  EXPECT_PST_KIND(PST_Win_wait_stream(MPI_WIN_NULL, lane.queue()), PST_ERROR_WINDOW);
  EXPECT_PST_KIND(MPI_Win_start(self, PST_MODE_STREAM, plain), PST_ERROR_WINDOW);
  EXPECT_PST_KIND(PST_Win_attach(MPI_WIN_NULL), PST_ERROR_WINDOW);
  // Attached twice is attached once; MPI's own epochs go on.
  EXPECT_PST(PST_Win_attach(plain));
  EXPECT_PST(PST_Win_attach(plain));
  EXPECT_EQ(MPI_Win_fence(0, plain), MPI_SUCCESS);
  EXPECT_EQ(MPI_Put(&memory, 0, MPI_UINT64_T, rank(), 0, 0, MPI_UINT64_T, plain), MPI_SUCCESS);
  EXPECT_EQ(MPI_Win_fence(0, plain), MPI_SUCCESS);
  EXPECT_PST_KIND(PST_Win_post_stream(self, 0, plain, PST_QUEUE_NULL), PST_ERROR_QUEUE);
  EXPECT_EQ(MPI_Win_free(&plain), MPI_SUCCESS);
}

TEST(Windows, AWindowThatNoTransportServes) {
  if (windows_served()) GTEST_SKIP() << "an allowed transport serves windows";
  // Open MPI has no MPI_Win_create for one process alone.
  Number memory = 0;
  void* base = nullptr;
  MPI_Win plain = MPI_WIN_NULL;
  MPI_Win_allocate(sizeof memory, sizeof memory, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &plain);
  EXPECT_PST_KIND(PST_Win_attach(plain), PST_ERROR_TRANSPORT);
  EXPECT_NE(last_error().find("serves no windows"), std::string::npos) << last_error();
  EXPECT_EQ(MPI_Win_free(&plain), MPI_SUCCESS);
}

// In the run that asks for proxy and for no more than MPI_THREAD_SERIALIZED.
TEST(Windows, OverMpiNeedItsThreadLevel) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (transport_allowed("peer") || !transport_allowed("proxy") || level == MPI_THREAD_MULTIPLE)
    GTEST_SKIP() << "the thread level is not missing";
  void* base = nullptr;
  MPI_Win plain = MPI_WIN_NULL;
  MPI_Win_allocate(8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &plain);
  EXPECT_PST_KIND(PST_Win_attach(plain), PST_ERROR_THREAD_LEVEL);
  EXPECT_NE(last_error().find("PENSTOCK_THREAD_MULTIPLE"), std::string::npos) << last_error();
  EXPECT_EQ(MPI_Win_free(&plain), MPI_SUCCESS);
}

}  // namespace
}  // namespace penstock::test
