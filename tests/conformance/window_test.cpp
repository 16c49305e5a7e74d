// SPDX-License-Identifier: Apache-2.0
// One-sided epochs on streams: what is moved, when, and who waits for whom. R numbers are those of
// docs/rma.md.
#include "conformance/window.hpp"

#include <atomic>
#include <thread>

namespace penstock::test {
namespace {

constexpr auto not_served = "no allowed transport serves windows";

// Sizes in numbers: nothing, a line, what a slot holds and a little more, a large one.
const std::vector<std::size_t> counts{0, 1, 7, 30, 500, 4000, 4200, 70000};

// Each rank writes into its right neighbour's window, epoch after epoch, without a wait of the
// host. The target checks every number, the origin overwrites its source behind each complete.
void ring_of_puts(std::size_t count, Memory memory, std::uint64_t epochs) {
  Window window(count + 1, memory);
  Lane lane;
  Script script;
  std::vector<Number> source(count + 1);
  std::atomic<std::uint64_t> wrong = 0;
  const int left = previous_rank(), right = next_rank(), self = rank();
  for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch) {
    window.post(lane, {left});
    window.start({right});
    if (count > 0) window.put(source.data(), count, right, 0);
    script.run(lane, [&source, count, self, epoch] {
      for (std::size_t i = 0; i < count; ++i) source[i] = stamp(self, epoch, i);
    });
    window.complete(lane);
    script.run(lane, [&source] { std::fill(source.begin(), source.end(), Number{0xbad}); });
    window.wait(lane);
    script.run(lane, [&wrong, &window, count, left, epoch] {
      const auto numbers = window.numbers();
      for (std::size_t i = 0; i < count; ++i) wrong += numbers[i] != stamp(left, epoch, i);
      wrong += numbers[count] != 0;
      std::fill_n(numbers.begin(), count, Number{0});
    });
  }
  lane.finish();
  EXPECT_EQ(wrong, 0U) << count << " numbers, " << name(memory);
}

TEST(Windows, R1_R3_EveryNumberOfEveryEpoch) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  for (const Memory memory : {Memory::allocated, Memory::ordinary})
    for (const std::size_t count : counts) ring_of_puts(count, memory, count > 10000 ? 10 : 60);
}

TEST(Windows, R1_AThousandEpochsWithoutAWaitOfTheHost) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  ring_of_puts(5, Memory::allocated, 1000);
  ring_of_puts(600, Memory::allocated, 1000);
}

// The target reads its window for long between its wait and its next post.
TEST(Windows, R2_ASlowReaderSeesNothingOfTheNextEpoch) {
  const int self = rank();
  const int left = previous_rank();  // functions on the stream call no MPI
  if (!windows_served()) GTEST_SKIP() << not_served;
  for (const std::size_t count : {std::size_t{8}, std::size_t{5000}}) {
    Window window(count);
    Lane lane;
    Script script;
    std::vector<Number> source(count);
    std::atomic<std::uint64_t> wrong = 0;
    for (std::uint64_t epoch = 1; epoch <= 20; ++epoch) {
      window.post(lane, {previous_rank()});
      window.start({next_rank()});
      window.put(source.data(), count, next_rank(), 0);
      script.run(lane, [&source, self, epoch] {
        for (std::size_t i = 0; i < source.size(); ++i) source[i] = stamp(self, epoch, i);
      });
      window.complete(lane);
      window.wait(lane);
      for (int look = 0; look < 3; ++look) {
        if (rank() % 2 == 0) enqueue_delay(lane, 300);
        script.run(lane, [&, epoch] {
          for (std::size_t i = 0; i < count; ++i)
            wrong += window.numbers()[i] != stamp(left, epoch, i);
        });
      }
    }
    lane.finish();
    EXPECT_EQ(wrong, 0U);
  }
}

// A complete that moves from memory to memory stands long before its post: no early byte.
TEST(Windows, R4_NothingMovesBeforeThePost) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  constexpr std::size_t count = 20000;
  Window window(count);
  Lane lane, other;
  std::vector<Number> source(count, 7);
  if (partner() == rank()) {  // it would wait for itself
    meet();
  } else if (rank() % 2 == 0) {
    window.start({partner()});
    window.put(source.data(), count, partner(), 0);
    window.complete(lane);
    meet();
    lane.finish();
  } else {
    meet();
    enqueue_delay(lane, 2000);
    Script script;
    std::atomic<std::uint64_t> early = 0, late = 0;
    script.run(lane, [&] {
      for (const Number number : window.numbers()) early += number != 0;
    });
    window.post(lane, {partner()});
    window.wait(lane);
    script.run(lane, [&] {
      for (const Number number : window.numbers()) late += number != 7;
    });
    lane.finish();
    EXPECT_EQ(early, 0U);
    EXPECT_EQ(late, 0U);
  }
  meet();
}

// Small epochs need no post: as many as there are slots go ahead of the target.
TEST(Windows, R5_SmallEpochsRunAhead) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  if (!goes_ahead()) GTEST_SKIP() << "PENSTOCK_RMA_EAGER=0";
  constexpr int ahead = 4;
  Window window(ahead);
  Lane lane, receiving;
  std::vector<Number> source(ahead);
  for (std::size_t i = 0; i < ahead; ++i) source[i] = stamp(rank(), i, i);
  for (std::size_t i = 0; i < ahead; ++i) {
    window.start({next_rank()});
    // Towards oneself a complete stands behind its post.
    if (size() == 1) window.post(receiving, {0});
    window.put(&source[i], 1, next_rank(), i);
    window.complete(lane);
    if (size() == 1) window.wait(receiving);
  }
  lane.finish();  // although no target has posted
  meet();
  for (std::size_t i = 0; size() > 1 && i < ahead; ++i) {
    window.post(receiving, {previous_rank()});
    window.wait(receiving);
  }
  receiving.finish();
  for (std::size_t i = 0; i < ahead; ++i)
    EXPECT_EQ(window.numbers()[i], stamp(previous_rank(), i, i));
}

TEST(Windows, R6_PostCompleteWaitAgainstCompletePostWait) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  for (const std::size_t count : {std::size_t{4}, std::size_t{6000}}) {
    Window window(count);
    Lane lane;
    if (partner() == rank()) continue;
    std::vector<Number> source(count, stamp(rank(), 0, 0));
    for (int epoch = 0; epoch < 50; ++epoch) {
      if (rank() % 2 == 0) window.post(lane, {partner()});
      window.start({partner()});
      window.put(source.data(), count, partner(), 0);
      window.complete(lane);
      if (rank() % 2 == 1) window.post(lane, {partner()});
      window.wait(lane);
    }
    lane.finish();
    EXPECT_EQ(window.numbers()[count - 1], stamp(partner(), 0, 0));
  }
}

// The group of an epoch names another target each time, the posts another origin.
TEST(Windows, R8_GroupsChangeFromEpochToEpoch) {
  const int self = rank();  // functions on the stream call no MPI
  if (!windows_served()) GTEST_SKIP() << not_served;
  constexpr std::size_t count = 3000;
  Window window(count);
  Lane lane;
  Script script;
  std::vector<Number> source(count);
  std::atomic<std::uint64_t> wrong = 0;
  for (std::uint64_t epoch = 1; epoch <= 40; ++epoch) {
    const int step = static_cast<int>(epoch % static_cast<std::uint64_t>(size()));
    const int to = (rank() + step) % size(), from = (rank() + size() - step) % size();
    window.post(lane, {from});
    window.start({to});
    window.put(source.data(), count, to, 0);
    script.run(lane, [&, epoch] {
      for (std::size_t i = 0; i < count; ++i) source[i] = stamp(self, epoch, i);
    });
    window.complete(lane);
    window.wait(lane);
    script.run(lane, [&, epoch, from] {
      for (std::size_t i = 0; i < count; ++i) wrong += window.numbers()[i] != stamp(from, epoch, i);
    });
  }
  lane.finish();
  EXPECT_EQ(wrong, 0U);
}

// Two windows on two streams, in opposite orders on neighbours.
TEST(Windows, R9_TwoWindowsInOppositeOrders) {
  const int left = previous_rank();  // functions on the stream call no MPI
  const int self = rank();
  if (!windows_served()) GTEST_SKIP() << not_served;
  Window first(600), second(600);
  Lane lanes[2];
  std::vector<Number> sources[2] = {std::vector<Number>(600), std::vector<Number>(600)};
  Script script;
  std::atomic<std::uint64_t> wrong = 0;
  for (std::uint64_t epoch = 1; epoch <= 100; ++epoch) {
    for (int turn = 0; turn < 2; ++turn) {
      const int which = (turn + rank()) % 2;
      Window& window = which == 0 ? first : second;
      auto& source = sources[which];
      Lane& lane = lanes[which];
      const std::size_t count = epoch % 3 == 0 ? 600 : 3;
      window.post(lane, {previous_rank()});
      window.start({next_rank()});
      window.put(source.data(), count, next_rank(), 0);
      script.run(lane, [&source, self, epoch, which] {
        for (std::size_t i = 0; i < source.size(); ++i)
          source[i] = stamp(self, 2 * epoch + static_cast<unsigned>(which), i);
      });
      window.complete(lane);
      window.wait(lane);
      script.run(lane, [&wrong, &window, left, count, epoch, which] {
        for (std::size_t i = 0; i < count; ++i)
          wrong += window.numbers()[i] != stamp(left, 2 * epoch + static_cast<unsigned>(which), i);
      });
    }
  }
  for (Lane& lane : lanes) lane.finish();
  EXPECT_EQ(wrong, 0U);
}

// One of several origins is slow: the target's wait waits for all of them.
TEST(Windows, R10_OneOriginIsAheadOfAnother) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  Window window(static_cast<std::size_t>(size()));
  Lane lane;
  Script script;
  Number source = 0;
  Ranks all;
  for (int i = 0; i < size(); ++i) all.push_back(i);
  std::atomic<std::uint64_t> wrong = 0;
  for (std::uint64_t epoch = 1; epoch <= 60; ++epoch) {
    if (rank() == 0) window.post(lane, all);
    window.start({0});
    window.put(&source, 1, 0, static_cast<std::size_t>(rank()));
    if (rank() == size() - 1 && epoch % 7 == 0) enqueue_delay(lane, 500);
    script.run(lane, [&source, epoch] { source = epoch; });
    window.complete(lane);
    if (rank() != 0) continue;
    window.wait(lane);
    script.run(lane, [&, epoch] {
      for (const Number number : window.numbers()) wrong += number != epoch;
    });
  }
  lane.finish();
  EXPECT_EQ(wrong, 0U);
}

// Nothing is put, or to one of two targets alone: each wait ends all the same. Empty groups.
TEST(Windows, R11_EmptyEpochsAreSignalled) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  Window window(4);
  Lane lane;
  const Number seven = 7;
  Ranks neighbours{next_rank()}, origins{previous_rank()};
  if (size() > 2) {
    neighbours.push_back(previous_rank());
    origins.push_back(next_rank());
  }
  for (int epoch = 0; epoch < 20; ++epoch) {
    window.post(lane, origins);
    window.start(neighbours);
    if (epoch == 10) window.put(&seven, 1, next_rank(), 2);
    if (epoch == 11) window.put(&seven, 0, next_rank(), 4);  // behind the last number: 0 bytes
    window.complete(lane);
    window.wait(lane);
    window.post(lane, {});
    window.start({});
    EXPECT_PST(MPI_Put(&seven, 1, MPI_UINT64_T, MPI_PROC_NULL, 0, 1, MPI_UINT64_T, window.win()));
    window.complete(lane);
    window.wait(lane);
  }
  lane.finish();
  EXPECT_EQ(window.numbers()[2], 7U);
}

// Both roles go to another stream after each epoch. Each epoch has a place of its own, and all of
// them write the last number.
TEST(Windows, R12_RolesChangeStreams) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  constexpr std::uint64_t epochs = 60;
  for (const std::size_t count : {std::size_t{3}, std::size_t{1500}}) {
    Window window(epochs * count + 1);
    Lane lanes[3];
    std::vector<Number> source(epochs * count);
    for (std::size_t i = 0; i < source.size(); ++i) source[i] = stamp(rank(), i / count, i);
    for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
      Lane& lane = lanes[epoch % 3];
      window.post(lane, {previous_rank()});
      window.start({next_rank()});
      const Number* const from = source.data() + epoch * count;
      window.put(from, count, next_rank(), epoch * count);
      window.put(from, 1, next_rank(), epochs * count);
      window.complete(lane);
      window.wait(lane);
      if (epoch % 5 == 0) enqueue_delay(lane, 100);
    }
    for (Lane& lane : lanes) lane.finish();
    for (std::size_t i = 0; i < epochs * count; ++i)
      ASSERT_EQ(window.numbers()[i], stamp(previous_rank(), i / count, i));
    const std::size_t last = (epochs - 1) * count;
    EXPECT_EQ(window.numbers().back(), stamp(previous_rank(), last / count, last));
  }
}

// A get has come when the complete has ended; the target overwrites its window behind its wait.
TEST(Windows, R13_GetsSeeNoLaterValue) {
  const int right = next_rank();  // functions on the stream call no MPI
  const int self = rank();
  if (!windows_served()) GTEST_SKIP() << not_served;
  for (const Memory memory : {Memory::allocated, Memory::ordinary}) {
    constexpr std::size_t count = 2000;
    Window window(count, memory);
    Lane lane;
    Script script;
    std::vector<Number> taken(count);
    if (size() > 1 && !reaches(memory)) {
      window.start({next_rank()});
      EXPECT_PST_KIND(
          MPI_Get(taken.data(), 1, MPI_UINT64_T, next_rank(), 0, 1, MPI_UINT64_T, window.win()),
          PST_ERROR_UNSUPPORTED);
      window.complete(lane);  // without it
      window.post(lane, {previous_rank()});
      window.wait(lane);
      lane.finish();
      continue;
    }
    std::atomic<std::uint64_t> wrong = 0;
    for (std::uint64_t epoch = 1; epoch <= 40; ++epoch) {
      script.run(lane, [&window, self, epoch] {
        for (std::size_t i = 0; i < count; ++i) window.numbers()[i] = stamp(self, epoch, i);
      });
      window.post(lane, {previous_rank()});
      window.start({next_rank()});
      window.get(taken.data(), count, next_rank(), 0);
      window.complete(lane);
      script.run(lane, [&, epoch] {
        for (std::size_t i = 0; i < count; ++i) wrong += taken[i] != stamp(right, epoch, i);
      });
      window.wait(lane);
    }
    lane.finish();
    EXPECT_EQ(wrong, 0U) << name(memory);
  }
}

// Every rank adds to the same numbers of rank 0: no update is lost.
TEST(Windows, R14_AccumulatesLoseNothing) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  for (const std::size_t count : {std::size_t{3}, std::size_t{2000}}) {
    Window window(count);
    Lane lane;
    std::vector<Number> ones(count, 1);
    Ranks all;
    for (int i = 0; i < size(); ++i) all.push_back(i);
    constexpr std::uint64_t epochs = 30;
    for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
      if (rank() == 0) window.post(lane, all);
      window.start({0});
      window.add(ones.data(), count, 0, 0);
      window.add(ones.data(), count, 0, 0);
      window.complete(lane);
      if (rank() == 0) window.wait(lane);
    }
    lane.finish();
    for (const Number number : window.numbers())
      ASSERT_EQ(number, rank() == 0 ? 2 * epochs * static_cast<std::uint64_t>(size()) : 0);
    meet();
  }
}

// Eight windows at once, each with an epoch that waits.
TEST(Windows, R21_ManyWindowsWaitAtOnce) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  constexpr std::size_t many = 8;
  std::vector<std::unique_ptr<Window>> windows;
  std::vector<std::unique_ptr<Lane>> lanes;
  std::vector<Number> sources(many);
  for (std::size_t i = 0; i < many; ++i) {
    windows.push_back(std::make_unique<Window>(1));
    lanes.push_back(std::make_unique<Lane>());
    sources[i] = stamp(rank(), i, 0);
  }
  for (std::size_t i = 0; i < many; ++i) {
    windows[i]->post(*lanes[i], {previous_rank()});
    windows[i]->start({next_rank()});
    windows[i]->put(&sources[i], 1, next_rank(), 0);
  }
  meet();
  for (std::size_t i = many; i-- > 0;) {
    windows[i]->complete(*lanes[i]);
    windows[i]->wait(*lanes[i]);
  }
  for (std::size_t i = 0; i < many; ++i) {
    lanes[i]->finish();
    EXPECT_EQ(windows[i]->numbers()[0], stamp(previous_rank(), i, 0));
  }
}

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

// ---- R23: misuse, with nothing enqueued behind it

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

// Towards oneself a complete stands behind a post of its own, on whichever queue.
TEST(Windows, R6_TowardsOneself) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  Window window(20000);
  Lane lane, other;
  std::vector<Number> source(20000, 3);
  window.post(lane, {rank()});
  window.start({rank()});
  window.put(source.data(), source.size(), rank(), 0);
  window.complete(lane);
  window.start({rank()});
  EXPECT_PST_KIND(PST_Win_complete_stream(window.win(), lane.queue()), PST_ERROR_EPOCH);
  window.wait(lane);
  window.post(lane, {rank()});
  window.wait(lane);
  window.complete(other);  // its post is enqueued, and waited for
  lane.finish();
  other.finish();
  EXPECT_EQ(window.numbers().back(), 3U);
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
  constexpr int threads = 3, rounds = 30;
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

// What PENSTOCK_RMA=1 does, in the run that sets it.
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

}  // namespace
}  // namespace penstock::test
