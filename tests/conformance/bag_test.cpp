// SPDX-License-Identifier: Apache-2.0
// Bags: each message of each source is grabbed once, whole, in the order of its source, by any
// number of queues, and no source is passed over.
#include "conformance/bag.hpp"

#include <algorithm>
#include <thread>

namespace penstock::test {
namespace {

// Every message of every source, once; each queue has those of a source in their order.
void expect_each_once(const std::deque<Grabs>& queues, std::uint64_t messages) {
  std::vector<std::vector<int>> times(static_cast<std::size_t>(size()),
                                      std::vector<int>(messages, 0));
  for (const Grabs& grabs : queues) {
    EXPECT_EQ(grabs.wrong, 0u);
    std::vector<std::uint64_t> next(static_cast<std::size_t>(size()), 0);
    for (const auto& [source, number] : grabs.messages) {
      const auto from = static_cast<std::size_t>(source);
      ASSERT_LT(number, messages);
      EXPECT_GE(number, next[from]) << "of rank " << source;
      next[from] = number + 1;
      ++times[from][number];
    }
  }
  for (const auto& of_source : times)
    EXPECT_TRUE(std::ranges::all_of(of_source, [](int count) { return count == 1; }));
}

// All ranks put so many messages, and so many queues of rank 0 grab them, each by a thread of its
// own.
void put_and_grab(int slots, bool shared, std::size_t grabbers, std::uint64_t messages) {
  TestBag bag(slots, shared);
  std::deque<Lane> lanes(rank() == 0 ? grabbers : 0);
  std::deque<Grabs> grabs(lanes.size());
  std::vector<std::thread> threads;
  const std::uint64_t each = messages * static_cast<std::uint64_t>(size()) / grabbers;
  for (std::size_t i = 0; i < lanes.size(); ++i)
    threads.emplace_back([&, i] {
      for (std::uint64_t n = 0; n < each; ++n) bag.grab(lanes[i], grabs[i]);
    });
  Lane lane;
  for (std::uint64_t number = 0; number < messages; ++number) bag.put(lane, number);
  for (std::thread& thread : threads) thread.join();
  lane.finish();
  for (Lane& grabbing : lanes) grabbing.finish();
  if (rank() == 0) expect_each_once(grabs, messages);
  meet();
}

TEST(Bag, OneQueue) {
  if (!has_bags()) GTEST_SKIP() << "bags go by peer alone";
  for (const int slots : {1, 2, 7})
    for (const bool shared : {false, true}) put_and_grab(slots, shared, 1, 200);
}

TEST(Bag, FourQueues) {
  if (!has_bags()) GTEST_SKIP() << "bags go by peer alone";
  for (const int slots : {1, 4})
    for (const bool shared : {false, true}) put_and_grab(slots, shared, 4, 200);
}

TEST(Bag, ManyMessages) {
  if (!has_bags()) GTEST_SKIP() << "bags go by peer alone";
  put_and_grab(8, true, 2, long_run() ? 100'000 : 5'000);
}

// All slots of all sources are full when the grabs begin.
TEST(Bag, SourcesTakeTurns) {
  if (!has_bags()) GTEST_SKIP() << "bags go by peer alone";
  constexpr int slots = 3;
  TestBag bag(slots, true);
  Lane lane;
  for (std::uint64_t number = 0; number < slots; ++number) bag.put(lane, number);
  lane.finish();
  meet();
  if (rank() == 0) {
    Grabs grabs;
    const auto sources = static_cast<std::size_t>(size());
    for (std::size_t n = 0; n < slots * sources; ++n) bag.grab(lane, grabs);
    lane.finish();
    ASSERT_EQ(grabs.messages.size(), slots * sources);
    for (std::size_t n = 0; n < slots * sources; ++n) {
      EXPECT_EQ(grabs.messages[n].number, n / sources);
      for (std::size_t before = n / sources * sources; before < n; ++before)
        EXPECT_NE(grabs.messages[n].source, grabs.messages[before].source);
    }
  }
  meet();
}

// A put waits for a slot, and no longer: the stream stands before the one that has none.
TEST(Bag, FullSlotsHoldThePut) {
  if (!has_bags()) GTEST_SKIP() << "bags go by peer alone";
  constexpr std::uint64_t slots = 2;
  TestBag bag(slots, false);
  std::atomic<bool> all_full{false}, one_more{false};
  const auto set = [](void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); };
  Lane lane;
  for (std::uint64_t number = 0; number < slots; ++number) bag.put(lane, number);
  lane.launch(set, &all_full);
  bag.put(lane, slots);
  lane.launch(set, &one_more);
  while (!all_full) std::this_thread::yield();
  EXPECT_FALSE(one_more);
  meet();
  std::deque<Grabs> grabs(1);
  if (rank() == 0) {
    Lane grabbing;
    const std::uint64_t all = (slots + 1) * static_cast<std::uint64_t>(size());
    for (std::uint64_t n = 0; n < all; ++n) bag.grab(grabbing, grabs[0]);
    grabbing.finish();
    expect_each_once(grabs, slots + 1);
  }
  lane.finish();
  EXPECT_TRUE(one_more);
  meet();
}

// Slots come back in another order than they were grabbed in, on another queue.
TEST(Bag, ReleasesInAnyOrder) {
  if (!has_bags()) GTEST_SKIP() << "bags go by peer alone";
  constexpr std::uint64_t slots = 3, rounds = 20;
  TestBag bag(slots, true);
  Lane lane;
  for (std::uint64_t number = 0; number < slots * rounds; ++number) bag.put(lane, number);
  if (rank() == 0) {
    const std::size_t all = slots * static_cast<std::size_t>(size());
    Lane grabbing, releasing;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      std::vector<PST_Grabbed> grabbed(all);
      for (PST_Grabbed& each : grabbed)
        EXPECT_PST(PST_Bag_grab(grabbing.queue(), bag.bag(), &each));
      grabbing.finish();
      std::vector<int> taken;
      for (const PST_Grabbed& each : grabbed) taken.push_back(each.slot);
      std::ranges::sort(taken);
      for (std::size_t slot = 0; slot < all; ++slot) EXPECT_EQ(taken[slot], static_cast<int>(slot));
      std::ranges::shuffle(grabbed, generator(round));
      for (const PST_Grabbed& each : grabbed)
        EXPECT_PST(PST_Bag_release(releasing.queue(), bag.bag(), &each));
      releasing.finish();
    }
  }
  lane.finish();
  meet();
}

// Each queue has a message while it waits for its next one: together fewer than a source has slots.
TEST(Bag, ReleasesThatLag) {
  if (!has_bags()) GTEST_SKIP() << "bags go by peer alone";
  constexpr std::size_t queues = 3;
  constexpr std::uint64_t messages = 60;
  TestBag bag(4, false);
  std::deque<Lane> lanes(rank() == 0 ? queues : 0);
  std::deque<Grabs> grabs(lanes.size());
  const std::uint64_t each = messages * static_cast<std::uint64_t>(size()) / queues;
  auto random = generator();
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const PST_Grabbed* held = nullptr;
    for (std::uint64_t n = 0; n < each; ++n) {
      const PST_Grabbed& grabbed = bag.hold(lanes[i], grabs[i]);
      if (random() % 8 == 0) enqueue_delay(lanes[i], random() % 200);
      if (held != nullptr) bag.release(lanes[i], *held);
      held = &grabbed;
    }
    bag.release(lanes[i], *held);
  }
  Lane lane;
  for (std::uint64_t number = 0; number < messages; ++number) {
    if (random() % 8 == 0) enqueue_delay(lane, random() % 200);
    bag.put(lane, number);
  }
  lane.finish();
  for (Lane& grabbing : lanes) grabbing.finish();
  if (rank() == 0) expect_each_once(grabs, messages);
  meet();
}

// Two queues put at one end: each keeps its order.
TEST(Bag, TwoQueuesPutAtOneEnd) {
  if (!has_bags()) GTEST_SKIP() << "bags go by peer alone";
  constexpr std::uint64_t each = 200;
  TestBag bag(2, true);
  Lane first, second;
  std::thread putting([&] {
    for (std::uint64_t n = 0; n < each; ++n) bag.put(first, 2 * n);
  });
  for (std::uint64_t n = 0; n < each; ++n) bag.put(second, 2 * n + 1);
  putting.join();
  if (rank() == 0) {
    Lane grabbing;
    Grabs grabs;
    const std::uint64_t all = 2 * each * static_cast<std::uint64_t>(size());
    for (std::uint64_t n = 0; n < all; ++n) bag.grab(grabbing, grabs);
    grabbing.finish();
    EXPECT_EQ(grabs.wrong, 0u);
    EXPECT_EQ(grabs.messages.size(), all);
    std::vector<std::uint64_t> next(2 * static_cast<std::size_t>(size()), 0);
    for (const auto& [source, number] : grabs.messages)
      EXPECT_EQ(number / 2, next[2 * static_cast<std::size_t>(source) + number % 2]++);
  }
  first.finish();
  second.finish();
  meet();
}

// What is matched by PST_Imatch, and by a status; a request that MPI's calls may wait for.
TEST(Bag, IsARequest) {
  if (!has_bags()) GTEST_SKIP() << "bags go by peer alone";
  std::vector<std::uint64_t> slots(static_cast<std::size_t>(size()));
  std::vector<int> sources(slots.size());
  std::iota(sources.begin(), sources.end(), 0);
  std::vector<MPI_Request> ends(1, MPI_REQUEST_NULL);
  ASSERT_PST(PST_Bag_send_init(1, 1, MPI_UINT64_T, 0, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &ends[0]));
  if (rank() == 0) {
    ends.push_back(MPI_REQUEST_NULL);
    ASSERT_PST(PST_Bag_recv_init(slots.data(), 1, 1, MPI_UINT64_T, size(), sources.data(), 3,
                                 MPI_COMM_WORLD, MPI_INFO_NULL, &ends[1]));
  }
  MPI_Request matching = MPI_REQUEST_NULL;
  ASSERT_PST(PST_Imatchall(static_cast<int>(ends.size()), ends.data(), &matching));
  MPI_Wait(&matching, MPI_STATUS_IGNORE);
  for (MPI_Request& end : ends) {
    int flag = 0;
    EXPECT_PST(PST_Is_matched(end, &flag));
    EXPECT_EQ(flag, 1);
    EXPECT_EQ(transport_of(end), "peer");
    EXPECT_PST_KIND(PST_Match(&end, MPI_STATUS_IGNORE), PST_ERROR_ALREADY_MATCHED);
    MPI_Wait(&end, MPI_STATUS_IGNORE);
    EXPECT_NE(end, MPI_REQUEST_NULL);
  }
  Lane lane;
  const std::uint64_t value = 7;
  EXPECT_PST(PST_Bag_put(lane.queue(), ends[0], &value, 1));
  lane.finish();
  meet();
  for (MPI_Request& end : ends) EXPECT_PST(PST_Request_free(&end));
}

}  // namespace
}  // namespace penstock::test
