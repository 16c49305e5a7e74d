// SPDX-License-Identifier: Apache-2.0
// The queue of starts that wait for entries of the provider: order, limit and what each policy waits for.
#include "transport/ofi/deferred_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <thread>
#include <vector>

namespace penstock::transport::ofi {
namespace {

using Start = DeferredQueue::Start;
using Policy = DeferredQueue::Policy;

// A provider with as many entries as it says; each start takes `size` of them.
struct FakeProvider final : DeferredQueue::Poster {
  unsigned entries_for(const Start& start) noexcept override { return gone.count(start.epoch) ? 0 : size; }
  unsigned post(const Start& start) noexcept override {
    const unsigned taken = std::min(size, left);
    left -= taken;
    if (taken > 0) posted.push_back(start.epoch);
    return taken;
  }
  void passed(const Start& start) noexcept override { done.push_back(start.epoch); }

  unsigned size = 2;
  unsigned left = 1000;
  std::set<protocol::Epoch> gone;
  std::vector<protocol::Epoch> posted, done;
};

std::vector<protocol::Epoch> up_to(protocol::Epoch last) {
  std::vector<protocol::Epoch> epochs;
  for (protocol::Epoch epoch = 1; epoch <= last; ++epoch) epochs.push_back(epoch);
  return epochs;
}

void add(DeferredQueue& queue, protocol::Epoch first, protocol::Epoch last) {
  for (protocol::Epoch epoch = first; epoch <= last; ++epoch) queue.add({&queue, epoch});
}

TEST(OfiDeferredQueue, PostsInOrderUpToTheLimit) {
  DeferredQueue queue(Policy::adaptive, 8);
  FakeProvider provider;
  EXPECT_TRUE(queue.empty());
  EXPECT_FALSE(queue.post(provider));
  add(queue, 1, 10);
  EXPECT_FALSE(queue.empty());
  EXPECT_TRUE(queue.post(provider));
  EXPECT_EQ(provider.posted, up_to(4));
  EXPECT_EQ(queue.statistics().in_use, 8u);
  EXPECT_FALSE(queue.post(provider));
}

TEST(OfiDeferredQueue, AdaptivePostsAsSoonAsEntriesAreFree) {
  DeferredQueue queue(Policy::adaptive, 4);
  FakeProvider provider;
  add(queue, 1, 10);
  queue.post(provider);
  EXPECT_EQ(provider.posted, up_to(2));
  queue.completed(1);
  EXPECT_FALSE(queue.post(provider));  // a start is posted whole
  queue.completed(1);
  EXPECT_TRUE(queue.post(provider));
  EXPECT_EQ(provider.posted, up_to(3));
}

TEST(OfiDeferredQueue, StaticWaitsForTheWholeBatch) {
  DeferredQueue queue(Policy::batches, 4);
  FakeProvider provider;
  add(queue, 1, 10);
  queue.post(provider);
  EXPECT_EQ(provider.posted, up_to(2));
  queue.completed(2);
  EXPECT_FALSE(queue.post(provider));
  queue.completed(2);
  EXPECT_TRUE(queue.post(provider));
  EXPECT_EQ(provider.posted, up_to(4));
}

TEST(OfiDeferredQueue, ApplicationWaitsForTheProgramsWait) {
  DeferredQueue queue(Policy::application, 4);
  FakeProvider provider;
  add(queue, 1, 10);
  queue.post(provider);
  queue.completed(4);
  EXPECT_FALSE(queue.post(provider));
  EXPECT_EQ(queue.statistics().in_use, 4u);
  queue.reclaim();
  EXPECT_TRUE(queue.post(provider));
  EXPECT_EQ(provider.posted, up_to(4));
}

TEST(OfiDeferredQueue, PassesOverStartsThatNeedNothingAnyMore) {
  DeferredQueue queue(Policy::adaptive, 4);
  FakeProvider provider;
  provider.gone = {3, 4};
  add(queue, 1, 6);
  queue.post(provider);
  EXPECT_EQ(provider.posted, up_to(2));
  // Full, but nothing needs an entry before 5.
  EXPECT_EQ(provider.done, up_to(4));
  queue.completed(4);
  queue.post(provider);
  EXPECT_EQ(provider.posted, (std::vector<protocol::Epoch>{1, 2, 5, 6}));
  EXPECT_TRUE(queue.empty());
}

TEST(OfiDeferredQueue, WhatCanNeverFitIsPassedOver) {
  DeferredQueue queue(Policy::adaptive, 1);
  FakeProvider provider;
  add(queue, 1, 3);
  EXPECT_TRUE(queue.post(provider));
  EXPECT_TRUE(provider.posted.empty());
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.statistics().in_use, 0u);
}

TEST(OfiDeferredQueue, AProviderWithFewerEntriesThanItSaysHoldsUpTheRest) {
  DeferredQueue queue(Policy::adaptive, 100);
  FakeProvider provider;
  provider.left = 3;
  add(queue, 1, 4);
  queue.post(provider);
  EXPECT_EQ(provider.posted, up_to(2));  // the second with one entry only
  EXPECT_EQ(queue.statistics().in_use, 3u);
  EXPECT_FALSE(queue.post(provider));
  queue.completed(3);
  provider.left = 100;
  queue.post(provider);
  EXPECT_EQ(provider.posted, up_to(4));
}

TEST(OfiDeferredQueue, CountsTheStartsThatHadToWait) {
  DeferredQueue queue(Policy::adaptive, 4);
  FakeProvider provider;
  add(queue, 1, 2);
  queue.post(provider);
  EXPECT_EQ(queue.statistics().throttled, 0u);
  add(queue, 3, 5);
  queue.post(provider);
  queue.completed(4);
  queue.post(provider);
  queue.completed(4);
  queue.post(provider);
  EXPECT_EQ(provider.posted, up_to(5));
  EXPECT_EQ(queue.statistics().throttled, 3u);
  EXPECT_EQ(queue.statistics().posted, 5u);
  EXPECT_EQ(queue.statistics().most_in_use, 4u);
}

TEST(OfiDeferredQueue, ManyThreadsAddEachInItsOrder) {
  constexpr int threads = 4;
  constexpr protocol::Epoch each = 5000;
  struct Provider final : DeferredQueue::Poster {
    unsigned entries_for(const Start&) noexcept override { return 1; }
    unsigned post(const Start& start) noexcept override {
      if (start.epoch != ++last[start.half]) disordered = true;
      return 1;
    }
    void passed(const Start&) noexcept override { ++count; }
    std::map<void*, protocol::Epoch> last;
    bool disordered = false;
    protocol::Epoch count = 0;
  } provider;
  DeferredQueue queue(Policy::adaptive, 1);
  int halves[threads] = {};
  std::vector<std::thread> adders;
  for (int& half : halves)
    adders.emplace_back([&queue, &half] {
      for (protocol::Epoch epoch = 1; epoch <= each; ++epoch) queue.add({&half, epoch});
    });
  while (provider.count < threads * each)
    if (queue.post(provider)) queue.completed(1);
  for (std::thread& adder : adders) adder.join();
  EXPECT_FALSE(provider.disordered);
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace penstock::transport::ofi
