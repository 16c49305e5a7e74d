// SPDX-License-Identifier: Apache-2.0
// The line of halves whose starts wait for entries of the provider: order, limit and what each
// policy waits for.
#include "ofi/deferred_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace penstock::ofi {
namespace {

using Policy = DeferredQueue::Policy;

// Has starts that can be posted, each of which takes some entries.
struct Candidate : DeferredQueue::Candidate {
  Candidate(char its_name, unsigned count, unsigned entries = 2)
      : name(its_name), starts(count), size(entries) {}
  const char name;
  unsigned starts;
  const unsigned size;
};

// A provider with as many entries as it says.
struct FakeProvider final : DeferredQueue::Poster {
  unsigned entries_for(const DeferredQueue::Candidate& half) noexcept override {
    const auto& one = static_cast<const Candidate&>(half);
    return one.starts > 0 ? one.size : 0;
  }
  unsigned post(DeferredQueue::Candidate& half) noexcept override {
    auto& one = static_cast<Candidate&>(half);
    const unsigned taken = std::min(one.size, left);
    left -= taken;
    if (taken == 0) return 0;
    --one.starts;
    posted += one.name;
    return taken;
  }

  unsigned left = 1000;
  std::string posted;
};

// A queue over such a provider, and halves that stand in line in the order in which they were
// given.
struct Line {
  Line(Policy policy, unsigned limit) : queue(policy, limit) {}
  void join(Candidate& half) { queue.join(half, provider.entries_for(half)); }
  template <class... Halves>
  void join(Candidate& half, Halves&... others) {
    join(half);
    join(others...);
  }
  bool post() { return queue.post(provider); }
  unsigned in_use() const { return queue.statistics().in_use; }

  FakeProvider provider;
  DeferredQueue queue;
};

TEST(OfiDeferredQueue, PostsUpToTheLimit) {
  Line line(Policy::adaptive, 8);
  EXPECT_TRUE(line.queue.empty());
  EXPECT_FALSE(line.post());
  Candidate a('a', 10);
  line.join(a);
  EXPECT_FALSE(line.queue.empty());
  EXPECT_TRUE(line.post());
  EXPECT_EQ(line.provider.posted, "aaaa");
  EXPECT_EQ(line.in_use(), 8u);
  EXPECT_FALSE(line.post());
}

TEST(OfiDeferredQueue, HalvesTakeTurns) {
  Line line(Policy::adaptive, 100);
  Candidate a('a', 4), b('b', 1), c('c', 3);
  line.join(a, b, c);
  EXPECT_TRUE(line.post());
  EXPECT_EQ(line.provider.posted, "abcacaca");
  EXPECT_TRUE(line.queue.empty());
  EXPECT_EQ(line.in_use(), 16u);
}

TEST(OfiDeferredQueue, AHalfStandsInLineOnce) {
  Line line(Policy::adaptive, 4);
  Candidate a('a', 4), b('b', 4);
  line.join(a, a, b, a);
  line.post();
  EXPECT_EQ(line.provider.posted, "ab");
  line.join(a, b);
  line.queue.completed(4);
  line.post();
  EXPECT_EQ(line.provider.posted, "abab");
}

TEST(OfiDeferredQueue, AHalfWithNothingToPostHoldsUpNobody) {
  Line line(Policy::adaptive, 4);
  Candidate a('a', 1), b('b', 1), c('c', 1);
  line.join(a, b, c);
  a.starts = 0;  // given up, or rung meanwhile
  EXPECT_TRUE(line.post());
  EXPECT_EQ(line.provider.posted, "bc");
  EXPECT_TRUE(line.queue.empty());
  a.starts = 1;
  line.join(a);
  line.queue.completed(4);
  line.post();
  EXPECT_EQ(line.provider.posted, "bca");
}

TEST(OfiDeferredQueue, AHalfCanLeaveFromAnyPlace) {
  for (const std::string leaving : {"a", "b", "c", "ab", "bc", "cb", "abc", "cba"}) {
    SCOPED_TRACE(leaving);
    Line line(Policy::adaptive, 100);
    Candidate halves[]{{'a', 1}, {'b', 1}, {'c', 1}};
    Candidate late('d', 1);
    line.join(halves[0], halves[1], halves[2]);
    for (const char name : leaving) line.queue.leave(halves[name - 'a']);
    line.queue.leave(late);  // does not stand there
    line.join(late);
    line.post();
    std::string stay = "abcd";
    for (const char name : leaving) stay.erase(stay.find(name), 1);
    EXPECT_EQ(line.provider.posted, stay);
  }
}

TEST(OfiDeferredQueue, AdaptivePostsAsSoonAsEntriesAreFree) {
  Line line(Policy::adaptive, 4);
  Candidate a('a', 10);
  line.join(a);
  line.post();
  EXPECT_EQ(line.provider.posted, "aa");
  line.queue.completed(1);
  EXPECT_FALSE(line.post());  // a start is posted whole
  line.queue.completed(1);
  EXPECT_TRUE(line.post());
  EXPECT_EQ(line.provider.posted, "aaa");
}

TEST(OfiDeferredQueue, StaticWaitsForTheWholeBatch) {
  Line line(Policy::batches, 4);
  Candidate a('a', 10), b('b', 10);
  line.join(a, b);
  line.post();
  EXPECT_EQ(line.provider.posted, "ab");
  line.queue.completed(2);
  EXPECT_FALSE(line.post());
  line.queue.completed(2);
  EXPECT_TRUE(line.post());
  EXPECT_EQ(line.provider.posted, "abab");
}

TEST(OfiDeferredQueue, ApplicationWaitsForTheProgramsWait) {
  Line line(Policy::application, 4);
  Candidate a('a', 10);
  line.join(a);
  line.post();
  line.queue.completed(4);
  EXPECT_FALSE(line.post());
  EXPECT_EQ(line.in_use(), 4u);
  line.queue.reclaim();
  EXPECT_TRUE(line.post());
  EXPECT_EQ(line.provider.posted, "aaaa");
}

TEST(OfiDeferredQueue, WhatCanNeverFitDoesNotJoin) {
  Line line(Policy::adaptive, 2);
  Candidate large('l', 3, 3), small('s', 1);
  line.join(large, small);
  EXPECT_TRUE(line.post());
  EXPECT_EQ(line.provider.posted, "s");
  EXPECT_TRUE(line.queue.empty());
  EXPECT_EQ(line.queue.statistics().throttled, 0u);
}

TEST(OfiDeferredQueue, AProviderWithFewerEntriesThanItSaysHoldsUpTheRest) {
  Line line(Policy::adaptive, 100);
  Candidate a('a', 4);
  line.provider.left = 3;
  line.join(a);
  line.post();
  EXPECT_EQ(line.provider.posted, "aa");  // the second with one entry only
  EXPECT_EQ(line.in_use(), 3u);
  EXPECT_FALSE(line.post());
  line.queue.completed(3);
  line.provider.left = 100;
  line.post();
  EXPECT_EQ(line.provider.posted, "aaaa");
}

TEST(OfiDeferredQueue, CountsTheStartsThatHadToWait) {
  Line line(Policy::adaptive, 4);
  const Statistics& seen = line.queue.statistics();
  Candidate a('a', 2), b('b', 2), c('c', 1);
  line.join(a);
  line.post();
  EXPECT_EQ(seen.throttled, 0u);
  line.join(b, c);
  line.post();  // in vain
  line.queue.completed(4);
  line.post();
  EXPECT_EQ(line.provider.posted, "aabc");
  EXPECT_EQ(seen.throttled, 2u);
  line.queue.completed(4);
  line.post();  // the last one of b, which found no room behind c
  EXPECT_EQ(line.provider.posted, "aabcb");
  EXPECT_EQ(seen.throttled, 3u);
  EXPECT_EQ(seen.posted, 5u);
  EXPECT_EQ(seen.most_in_use, 4u);
}

TEST(OfiDeferredQueue, CountsTheStartsThatWaitedUntilTheirDoorbell) {
  Line line(Policy::adaptive, 2);
  const Statistics& seen = line.queue.statistics();
  Candidate a('a', 1), b('b', 3), c('c', 1);
  line.join(a, b);
  line.queue.overtaken(b);  // nobody has been refused yet
  EXPECT_EQ(seen.throttled, 0u);
  line.post();
  line.queue.overtaken(b);
  EXPECT_EQ(seen.throttled, 1u);
  line.queue.overtaken(c);  // does not stand in line
  line.queue.completed(2);
  line.post();  // the next one of b had been refused nothing
  EXPECT_EQ(line.provider.posted, "ab");
  EXPECT_EQ(seen.throttled, 1u);
}

}  // namespace
}  // namespace penstock::ofi
