// SPDX-License-Identifier: Apache-2.0
// The steady state takes no lock, no allocation and no system call, on the caller's thread and on
// the stream's: counted over 10,000 epochs of the peer transport. Outside of it stand the growth of
// the command store, which a first round brings to its size, and the yielding of a wait that has
// spun for long enough.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include "conformance/channel.hpp"
#include "conformance/enqueued.hpp"
#include "conformance/one_way.hpp"
#include "conformance/system_calls.hpp"
#include "conformance/window.hpp"

namespace penstock::test {
namespace {

TEST(HotPath, CountersSeeWhatTheyCount) {
  if (!can_count()) GTEST_SKIP() << "not under a sanitizer";
  Activity activity;
  std::mutex mutex;
  begin_counting(activity);
  void* volatile memory = std::malloc(100);
  std::free(memory);
  mutex.lock();
  mutex.unlock();
  const long parent = syscall(SYS_getppid);
  end_counting();
  EXPECT_EQ(parent, getppid());
  EXPECT_EQ(activity.allocations, 2u);
  EXPECT_EQ(activity.locks, 1u);
  // SystemCallsAreCounted says so where it cannot.
  const std::uint64_t expected = can_count_system_calls() ? 1 : 0;
  EXPECT_EQ(activity.system_calls[SYS_getppid], expected) << activity.text();
}

struct Gate {
  std::atomic<bool> open = false;
  static void pass(void* gate) { static_cast<Gate*>(gate)->open.wait(false); }
};

// Brings the stream's command store to the size that `commands` commands take.
void grow(Lane& lane, int commands) {
  Gate gate;
  lane.launch(Gate::pass, &gate);
  for (int i = 0; i < commands; ++i) lane.launch([](void*) {}, nullptr);
  gate.open = true;
  gate.open.notify_all();
  lane.finish();
}

// Everything is enqueued while the stream is held, then runs. Counts on both threads.
template <class Enqueue>
void run_counted(Lane& lane, int epochs, Activity& caller, Activity& worker, Enqueue&& enqueue) {
  Gate gate;
  lane.launch(Gate::pass, &gate);
  lane.launch([](void* activity) { begin_counting(*static_cast<Activity*>(activity)); }, &worker);
  begin_counting(caller);
  for (int i = 0; i < epochs; ++i) enqueue();
  end_counting();
  lane.launch([](void*) { end_counting(); }, nullptr);
  gate.open = true;
  gate.open.notify_all();
  lane.finish();
}

void run_counted(OneWay& pair, Lane& lane, int epochs, Activity& caller, Activity& worker) {
  run_counted(lane, epochs, caller, worker, [&] {
    if (pair.receives()) pair.receiver().enqueue_start(lane);
    if (pair.sends()) pair.sender().enqueue_start(lane);
    if (pair.receives()) pair.receiver().enqueue_wait(lane);
    if (pair.sends()) pair.sender().enqueue_wait(lane);
  });
}

// Of epochs that put both ways around the ring.
void run_counted(Window& window, Lane& lane, int epochs, std::size_t count, Activity& caller,
                 Activity& worker) {
  const Group left({previous_rank()}), right({next_rank()});
  const int target = next_rank();
  std::vector<Number> source(count, 1);
  int wrong = 0;
  run_counted(lane, epochs, caller, worker, [&] {
    wrong += PST_Win_post_stream(left, 0, window.win(), lane.queue());
    wrong += PST_Win_start(right, 0, window.win());
    wrong += PST_Put(source.data(), static_cast<int>(count), MPI_UINT64_T, target, 0,
                     static_cast<int>(count), MPI_UINT64_T, window.win());
    wrong += PST_Win_complete_stream(window.win(), lane.queue());
    wrong += PST_Win_wait_stream(window.win(), lane.queue());
  });
  EXPECT_EQ(wrong, 0);
}

// Nothing but a lock for each chunk of a stream's commands. With PENSTOCK_TRACE whoever has filled
// half of a ring of 65536 events wakes the thread that writes them.
void expect_steady(const Activity& caller, const Activity& worker, int commands) {
  const auto chunk_locks = static_cast<std::uint64_t>(commands / 256);
  const auto wakes =
      static_cast<std::uint64_t>(std::getenv("PENSTOCK_TRACE") ? commands / 32768 + 1 : 0);
  for (const Activity* each : {&caller, &worker}) {
    EXPECT_EQ(each->allocations, 0u) << each->text();
    EXPECT_LE(each->locks, chunk_locks) << each->text();
    EXPECT_LE(each->system_calls_beyond_waiting(), wakes) << each->text();
  }
  EXPECT_EQ(caller.system_calls_that_wait(), 0u) << caller.text();
}

TEST(HotPath, SystemCallsAreCounted) {
  if (!can_count()) GTEST_SKIP() << "not under a sanitizer";
  if (!can_count_system_calls())
    GTEST_SKIP() << "no syscall user dispatch here: only locks and allocations are counted";
  Activity activity;
  begin_counting(activity);
  sched_yield();
  end_counting();
  EXPECT_EQ(activity.system_calls[SYS_sched_yield], 1u) << activity.text();
  EXPECT_EQ(activity.system_calls_beyond_waiting(), 0u) << activity.text();
}

TEST(HotPath, NoLockNoAllocationNoSystemCallInTheSteadyState) {
  if (!can_count()) GTEST_SKIP() << "not under a sanitizer";
  // Two commands of the library and two functions for each end and epoch.
  const int commands_an_epoch = partner() == rank() ? 8 : 4;
  for (const Kind kind : {Kind::standard, Kind::synchronous, Kind::ready}) {
    // A ring of one line, a ring of many (ordinary memory up to the eager limit), a rendezvous.
    const std::array<std::pair<std::size_t, Memory>, 3> paths{
        {{8, Memory::allocated},
         {eager_max(), Memory::ordinary},
         {eager_max() + 1, Memory::allocated}}};
    for (const auto& [bytes, memory] : paths) {
      if (bytes == 0) continue;  // PENSTOCK_EAGER_MAX=0: no ring
      // A ready send needs a proof that its receive is started; a rank to itself has it in the
      // order of its stream.
      if (kind == Kind::ready && partner() != rank()) continue;
      const int epochs = bytes == 8 || long_run() ? 10000 : 1000;
      const int commands = commands_an_epoch * epochs;
      const OneWay::Options options{.bytes = bytes, .kind = kind, .memory = memory};
      SCOPED_TRACE(text(options));
      OneWay pair(options);
      ASSERT_TRUE(pair.on_peer_transport());
      Lane lane;
      grow(lane, commands + 2000);
      Activity caller, worker;
      run_counted(pair, lane, epochs, caller, worker);
      pair.expect_good(static_cast<std::uint64_t>(epochs));
      expect_steady(caller, worker, commands);
    }
  }
}

TEST(HotPath, WindowsTakeNoLockNoAllocationNoSystemCallInTheSteadyState) {
  if (!can_count()) GTEST_SKIP() << "not under a sanitizer";
  constexpr int epochs = 2000, commands = 8 * epochs;
  for (const std::size_t count : {std::size_t{1}, std::size_t{600}}) {  // by a slot, and direct
    Window window(count);
    Lane lane;
    grow(lane, commands + 2000);
    Activity first_caller, first_worker, caller, worker;
    // Brings the lists of operations to as many as wait here at once, and then all of them to their
    // memory: the list that is being filled and the one that was carried out last are empty at
    // first.
    for (int warm_up = 0; warm_up < 2; ++warm_up)
      run_counted(window, lane, epochs, count, first_caller, first_worker);
    run_counted(window, lane, epochs, count, caller, worker);
    expect_steady(caller, worker, commands);
  }
}

// Units that are words: in lines, through the library's memory, and straight into the receive
// buffer.
TEST(HotPath, ChannelsTakeNoLockNoAllocationNoSystemCallInTheSteadyState) {
  if (!can_count()) GTEST_SKIP() << "not under a sanitizer";
  constexpr int epochs = 1000, commands = 8 * epochs;
  const std::array<std::pair<std::size_t, Memory>, 3> ways{
      {{5, Memory::ordinary}, {50, Memory::ordinary}, {50, Memory::allocated}}};
  for (const auto& [unit, memory] : ways) {
    // Larger ones go into ordinary memory by a call of the system.
    if (memory == Memory::ordinary &&
        unit * sizeof(Element) > std::max<std::size_t>(56, eager_max()))
      continue;
    const std::size_t count = 40 * unit;
    TestChannel channel(count, unit, 0, memory);
    Lane lane;
    grow(lane, commands + 2000);
    Activity first_caller, first_worker, caller, worker;
    int wrong = 0, arrived = 0;
    const auto half = static_cast<MPI_Count>(count / 2);
    const auto enqueue = [&] {
      if (channel.sends()) {
        wrong += PST_Channel_put(lane.queue(), channel.sender(), 0, half);
        wrong += PST_Pready_range(lane.queue(), 20, 39, channel.sender());
      }
      if (channel.receives()) {
        wrong += PST_Parrived(channel.receiver(), 39, &arrived);
        wrong += PST_Channel_wait(lane.queue(), channel.receiver(), 0, 2 * half);
        wrong += PST_Channel_release(lane.queue(), channel.receiver(), 0, 2 * half);
      }
      if (channel.sends())
        wrong += PST_Channel_put_wait(lane.queue(), channel.sender(), 0, 2 * half);
    };
    run_counted(lane, 1, first_caller, first_worker, enqueue);  // the channel meets the stream
    run_counted(lane, epochs, caller, worker, enqueue);
    EXPECT_EQ(wrong, 0);
    expect_steady(caller, worker, commands);
  }
}

TEST(HotPath, CollectivesTakeNoLockNoAllocationNoSystemCallInTheSteadyState) {
  if (!can_count()) GTEST_SKIP() << "not under a sanitizer";
  constexpr int epochs = 2000, commands = 20 * epochs;
  for (const int count : {1, 300, 1500}) {  // directly, in one line and in several
    std::vector<double> in(static_cast<std::size_t>(count)), out(in.size());
    MPI_Request request;
    ASSERT_PST(PST_Allreduce_init(in.data(), out.data(), count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
                                  MPI_INFO_NULL, &request));
    ASSERT_PST(PST_Match(&request, MPI_STATUS_IGNORE));
    Lane lane;
    grow(lane, commands + 2000);
    Activity caller, worker;
    int wrong = 0;
    run_counted(lane, epochs, caller, worker,
                [&] { wrong += PST_Enqueue_run(lane.queue(), &request); });
    EXPECT_EQ(wrong, 0);
    expect_steady(caller, worker, commands);
    EXPECT_PST(PST_Request_free(&request));
  }
}

// By puts: a block to and from each rank, in memory that all of them address.
TEST(HotPath, CollectivesByPutsTakeNoLockNoAllocationNoSystemCallInTheSteadyState) {
  if (!can_count()) GTEST_SKIP() << "not under a sanitizer";
  constexpr int epochs = 1000, commands = 20 * epochs;
  const auto bytes = static_cast<std::size_t>(size()) * 1000;
  std::byte* const in = allocate(Memory::allocated, bytes, std::byte{1});
  std::byte* const out = allocate(Memory::allocated, bytes, std::byte{2});
  for (const char* algorithm : {"put-lock", "put-fence"}) {
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "penstock_algorithm", algorithm);
    MPI_Request request;
    ASSERT_PST(
        PST_Alltoall_init(in, 1000, MPI_BYTE, out, 1000, MPI_BYTE, MPI_COMM_WORLD, info, &request));
    MPI_Info_free(&info);
    ASSERT_PST(PST_Match(&request, MPI_STATUS_IGNORE));
    Lane lane;
    grow(lane, commands + 2000);
    Activity caller, worker;
    int wrong = 0;
    run_counted(lane, epochs, caller, worker,
                [&] { wrong += PST_Enqueue_run(lane.queue(), &request); });
    EXPECT_EQ(wrong, 0);
    expect_steady(caller, worker, commands);
    EXPECT_PST(PST_Request_free(&request));
  }
  free(Memory::allocated, in);
  free(Memory::allocated, out);
}

// Their waits are put in order.
TEST(HotPath, SeveralCollectivesInACallTakeNoLockNoAllocationNoSystemCallInTheSteadyState) {
  if (!can_count()) GTEST_SKIP() << "not under a sanitizer";
  constexpr int epochs = 1000, commands = 50 * epochs;
  double sums[4] = {};
  MPI_Request requests[4];
  for (int i = 0; i < 4; ++i)
    ASSERT_PST(PST_Allreduce_init(MPI_IN_PLACE, &sums[i], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD,
                                  MPI_INFO_NULL, &requests[i]));
  ASSERT_PST(PST_Matchall(4, requests, MPI_STATUSES_IGNORE));
  Lane lane;
  grow(lane, commands + 2000);
  Activity first_caller, first_worker, caller, worker;
  int wrong = 0;
  const auto run_all = [&] { wrong += PST_Enqueue_runall(lane.queue(), 4, requests); };
  run_counted(lane, 1, first_caller, first_worker, run_all);
  run_counted(lane, epochs, caller, worker, run_all);
  EXPECT_EQ(wrong, 0);
  expect_steady(caller, worker, commands);
  for (MPI_Request& request : requests) EXPECT_PST(PST_Request_free(&request));
}

// Each rank's bag takes what the rank before puts.
TEST(HotPath, BagsTakeNoLockNoAllocationNoSystemCallInTheSteadyState) {
  if (!can_count()) GTEST_SKIP() << "not under a sanitizer";
  constexpr int epochs = 2000, commands = 4 * epochs;
  const int source = previous_rank();
  std::vector<std::uint64_t> slots(4);
  const std::uint64_t value = 1;
  MPI_Request ends[2];
  ASSERT_PST(PST_Bag_recv_init(slots.data(), 4, 1, MPI_UINT64_T, 1, &source, 0, MPI_COMM_WORLD,
                               MPI_INFO_NULL, &ends[0]));
  ASSERT_PST(PST_Bag_send_init(4, 1, MPI_UINT64_T, next_rank(), 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                               &ends[1]));
  ASSERT_PST(PST_Matchall(2, ends, MPI_STATUSES_IGNORE));
  {
    Lane lane;
    grow(lane, commands + 2000);
    Activity first_caller, first_worker, caller, worker;
    PST_Grabbed grabbed{};
    int wrong = 0;
    const auto pass_one = [&] {
      wrong += PST_Bag_put(lane.queue(), ends[1], &value, 1);
      wrong += PST_Bag_grab(lane.queue(), ends[0], &grabbed);
      wrong += PST_Bag_release(lane.queue(), ends[0], &grabbed);
    };
    run_counted(lane, 1, first_caller, first_worker, pass_one);
    run_counted(lane, epochs, caller, worker, pass_one);
    EXPECT_EQ(wrong, 0);
    expect_steady(caller, worker, commands);
  }
  meet();
  for (MPI_Request& end : ends) EXPECT_PST(PST_Request_free(&end));
}

// Exchanges by enqueued messages, each with a trigger and a wait, while the stream is held. Counts
// on the caller's thread: on the stream's MPI does what it does.
void enqueue_counted(EnqueueLane& lane, int exchanges, Activity& caller) {
  const int peer = partner();
  static int out = 0, in = 0;
  Gate gate;
  lane.launch(Gate::pass, &gate);
  int wrong = 0;
  begin_counting(caller);
  for (int i = 0; i < exchanges; ++i) {
    wrong += PST_Enqueue_recv(&in, 1, MPI_INT, peer, 1, MPI_COMM_NULL, lane.queue(), nullptr);
    wrong += PST_Enqueue_send(&out, 1, MPI_INT, peer, 1, MPI_COMM_NULL, lane.queue(), nullptr);
    wrong += PST_Enqueue_trigger(lane.queue());
    wrong += PST_Enqueue_wait_outstanding(lane.queue());
  }
  end_counting();
  EXPECT_EQ(wrong, 0);
  gate.open = true;
  gate.open.notify_all();
  lane.finish();
}

TEST(HotPathEnqueued, TheCallerTakesNoLockNoAllocationNoSystemCall) {
  if (!can_count()) GTEST_SKIP() << "not under a sanitizer";
  EnqueueLane lane;
  const int exchanges = 5000;
  Activity first, caller;
  enqueue_counted(lane, exchanges + 500, first);  // asks for memory, a chunk of commands more
  enqueue_counted(lane, exchanges, caller);
  expect_steady(caller, {}, 2 * exchanges);
}

}  // namespace
}  // namespace penstock::test
