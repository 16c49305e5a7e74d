// SPDX-License-Identifier: Apache-2.0
#include "core/registry.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <functional>
#include <iostream>
#include <random>
#include <thread>
#include <vector>

#include "core/matched_request.hpp"
#include "support/rounds.hpp"

namespace penstock::core {
namespace {

Recording tagged(int tag) {
  Recording recording;
  recording.tag = tag;
  return recording;
}

void forget(Handle handle) {
  if (MatchedRequest* request = Registry::get().remove(handle)) MatchedRequest::close(request);
}

TEST(Registry, FindsWhatWasRecordedAndNothingElse) {
  Registry& registry = Registry::get();
  EXPECT_EQ(registry.find(0), nullptr);
  EXPECT_EQ(registry.find(4096), nullptr);
  registry.record(4096, tagged(1));
  ASSERT_NE(registry.find(4096), nullptr);
  EXPECT_EQ(registry.find(4096)->recording().tag, 1);
  forget(4096);
  EXPECT_EQ(registry.find(4096), nullptr);
  EXPECT_EQ(registry.remove(4096), nullptr);
}

TEST(Registry, AHandleReturnedAgainReplacesItsEntry) {
  Registry& registry = Registry::get();
  registry.record(8192, tagged(1));
  registry.record(8192, tagged(2));
  EXPECT_EQ(registry.find(8192)->recording().tag, 2);
  forget(8192);
  EXPECT_EQ(registry.find(8192), nullptr);
}

TEST(Registry, KeepsTensOfThousandsThroughGrowthAndReuse) {
  Registry& registry = Registry::get();
  constexpr int count = 30000;
  for (int round = 0; round < 3; ++round) {
    for (int i = 1; i <= count; ++i)
      registry.record(static_cast<Handle>(i) * 16 + round, tagged(i));
    for (int i = 1; i <= count; ++i) {
      const MatchedRequest* found = registry.find(static_cast<Handle>(i) * 16 + round);
      ASSERT_NE(found, nullptr);
      ASSERT_EQ(found->recording().tag, i);
    }
    for (int i = 1; i <= count; ++i) forget(static_cast<Handle>(i) * 16 + round);
  }
}

// As with an MPI that does not reuse its handles soon: few live entries, ever new handles.
TEST(Registry, EverNewHandlesDoNotFillTheTable) {
  Registry& registry = Registry::get();
  std::mt19937_64 random(std::random_device{}());
  const Handle first = random() | 1;
  std::cout << "first handle " << first << '\n';
  constexpr Handle handles = penstock::test::fewer_rounds(200000, 10);
  const std::vector<std::function<Handle(Handle)>> kinds{
      [&](Handle i) { return first + i; }, [&](Handle i) { return first + 0x340 * i; },
      [&](Handle) { return Handle{random() | 1}; }};
  for (const auto& handle_of : kinds) {
    std::deque<Handle> live;
    for (Handle i = 0; i < handles; ++i) {
      live.push_back(handle_of(i));
      registry.record(live.back(), tagged(static_cast<int>(i)));
      ASSERT_EQ(registry.find(live.back())->recording().tag, static_cast<int>(i));
      ASSERT_NE(registry.find(live.front()), nullptr);
      if (live.size() < 5) continue;
      forget(live.front());
      ASSERT_EQ(registry.find(live.front()), nullptr);
      live.pop_front();
    }
    for (const Handle handle : live) forget(handle);
  }
}

TEST(Registry, ReadersFindTheirEntriesWhileOthersComeAndGo) {
  Registry& registry = Registry::get();
  constexpr Handle mine = 1u << 20;
  for (Handle i = 0; i < 64; ++i) registry.record(mine + i, tagged(static_cast<int>(i)));
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::thread reader([&] {
    while (!stop.load(std::memory_order_relaxed))
      for (Handle i = 0; i < 64; ++i) {
        const MatchedRequest* found = registry.find(mine + i);
        if (!found || found->recording().tag != static_cast<int>(i)) wrong.fetch_add(1);
      }
  });
  for (Handle i = 1; i < 20000; ++i) {
    registry.record((mine << 1) + i * 8, tagged(0));
    if (i % 3 == 0) forget((mine << 1) + (i / 3) * 8);
  }
  stop.store(true);
  reader.join();
  EXPECT_EQ(wrong.load(), 0);
  std::size_t from = 0;
  while (MatchedRequest* const request = registry.remove_any(from)) MatchedRequest::close(request);
  EXPECT_EQ(registry.find(mine), nullptr);
}

class CountingPlan final : public transport::Plan {
 public:
  explicit CountingPlan(int& closed) : closed_(closed) {}
  void check_stream(const device::Stream&) const override {}
  void start(device::Stream&, transport::Sink&) override {}
  void wait(device::Stream&, transport::Sink&) override {}
  void hand_over(device::Stream*, device::Stream&) override {}
  void close(device::Stream&, void (*)(void*), void*) override {}
  void close() override { ++closed_; }
  transport::PairState pair_state(transport::Epoch) const noexcept override {
    return transport::PairState::serves;
  }
  void cancel_wait(const base::Error&) noexcept override {}
  std::string describe() const override { return ""; }
  std::string path() const override { return ""; }

 private:
  int& closed_;
};

// MPI has given the handle to another request; a match, or a queue, still refers to the old one.
TEST(Registry, WhatIsInUseOutlivesItsHandle) {
  Registry& registry = Registry::get();
  constexpr Handle handle = 0x7777000;
  int closed = 0;
  registry.record(handle, tagged(1));
  MatchedRequest* const request = registry.find(handle);
  request->take_match({}, std::make_unique<CountingPlan>(closed), "test");
  request->match_begins();
  registry.discard(handle);
  EXPECT_EQ(registry.find(handle), nullptr);
  EXPECT_EQ(closed, 0);
  request->publish_match();
  MatchedRequest::close(request);
  EXPECT_EQ(closed, 1);

  registry.record(handle, tagged(2));
  registry.find(handle)->take_match({}, std::make_unique<CountingPlan>(closed), "test");
  registry.discard(handle);
  EXPECT_EQ(closed, 2) << "nothing refers to it";
}

}  // namespace
}  // namespace penstock::core
