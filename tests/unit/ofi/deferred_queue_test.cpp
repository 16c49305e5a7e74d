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

struct FakeProvider {
  unsigned left = 1000;  // entries
  std::string posted;    // whose starts, in order
};

// Has starts that can be posted, each of which takes some entries.
class Candidate final : public EngineClient {
 public:
  Candidate(char name, unsigned its_starts, unsigned entries = 2)
      : starts(its_starts), name_(name), entries_(entries) {}

  unsigned entries() const noexcept override { return starts > 0 ? entries_ : 0; }
  unsigned post() noexcept override {
    const unsigned taken = std::min(entries_, provider->left);
    provider->left -= taken;
    if (taken == 0) return 0;
    --starts;
    provider->posted += name_;
    return taken;
  }
  bool advance() noexcept override { return false; }
  bool has_work() const noexcept override { return false; }
  void ended(RdmaOperation&) noexcept override {}
  void failed(RdmaOperation&, int) noexcept override {}

  unsigned starts;
  FakeProvider* provider = nullptr;

 private:
  const char name_;
  const unsigned entries_;
};

// A queue over such a provider, and candidates that stand in line in the order in which they were
// given.
struct Line {
  Line(Policy policy, unsigned limit) : queue(policy, limit) {}
  template <class... Candidates>
  void join(Candidates&... candidates) {
    const auto one = [this](Candidate& candidate) {
      candidate.provider = &provider;
      queue.join(candidate);
    };
    (one(candidates), ...);
  }
  bool post() {
    bool moved = false;
    while (queue.post_next() != nullptr) moved = true;
    return moved;
  }
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
