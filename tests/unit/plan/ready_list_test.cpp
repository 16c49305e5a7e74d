// SPDX-License-Identifier: Apache-2.0
// The list of pairs that have work: each at most once, none lost, the earliest first, and what was
// written before is seen.
#include "plan/ready_list.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace penstock::plan {
namespace {

struct Entry : ReadyItem<Entry> {
  std::atomic<std::uint64_t> wanted{0};
  std::uint64_t payload = 0;  // plain: ordered by `wanted`
  std::uint64_t seen = 0;
};

TEST(RungListOrder, TakesNothingFromAnEmptyList) {
  ReadyList<Entry> list;
  EXPECT_TRUE(list.empty());
  EXPECT_FALSE(list.take([](Entry&) { FAIL(); }));
}

TEST(RungListOrder, TakesTheEarliestFirstAndEachOnce) {
  ReadyList<Entry> list;
  std::array<Entry, 3> items;
  list.mark(items[1]);
  list.mark(items[0]);
  list.mark(items[1]);
  list.mark(items[2]);
  std::vector<Entry*> taken;
  EXPECT_TRUE(list.take([&](Entry& item) { taken.push_back(&item); }));
  EXPECT_EQ(taken, (std::vector<Entry*>{&items[1], &items[0], &items[2]}));
  EXPECT_TRUE(list.empty());
}

TEST(RungListOrder, AnItemRungDuringItsVisitComesAgain) {
  ReadyList<Entry> list;
  Entry item;
  list.mark(item);
  EXPECT_TRUE(list.take([&](Entry& same) { list.mark(same); }));
  EXPECT_FALSE(list.empty());
  int visits = 0;
  EXPECT_TRUE(list.take([&](Entry&) { ++visits; }));
  EXPECT_EQ(visits, 1);
}

// Every ringer has a few items and rings the next number of one only when the last has been taken,
// as a stream does.
TEST(RungListOrder, LosesNothingBetweenManyRingersAndOneTaker) {
  constexpr int ringers = 3;
  constexpr int items_each = 4;
  constexpr std::uint64_t rounds = 3000;
  struct Answer {
    std::atomic<std::uint64_t> taken{0};
  };
  ReadyList<Entry> list;
  std::vector<Entry> items(ringers * items_each);
  std::vector<Answer> answers(items.size());
  std::vector<std::thread> threads;
  for (int ringer = 0; ringer < ringers; ++ringer) {
    threads.emplace_back([&, ringer] {
      for (std::uint64_t round = 1; round <= rounds; ++round) {
        for (int i = 0; i < items_each; ++i) {
          const auto index = static_cast<std::size_t>(ringer * items_each + i);
          while (answers[index].taken.load(std::memory_order_acquire) < round - 1)
            std::this_thread::yield();
          items[index].payload = round * 7;
          items[index].wanted.store(round, std::memory_order_release);
          list.mark(items[index]);
        }
      }
    });
  }
  std::size_t finished = 0;
  bool good = true;
  while (finished < items.size()) {
    const bool any = list.take([&](Entry& item) {
      const std::uint64_t wanted = item.wanted.load(std::memory_order_acquire);
      if (wanted == item.seen) return;  // taken with an earlier ring
      good = good && wanted == item.seen + 1 && item.payload == wanted * 7;
      item.seen = wanted;
      if (wanted == rounds) ++finished;
      answers[static_cast<std::size_t>(&item - items.data())].taken.store(
          wanted, std::memory_order_release);
    });
    if (!any) std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(good);
  list.take([](Entry&) {});
  EXPECT_TRUE(list.empty());
}

}  // namespace
}  // namespace penstock::plan
