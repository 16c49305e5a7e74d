// SPDX-License-Identifier: Apache-2.0
// What peer and proxy plans have in common: starts, waits, failures, release, close.
#include "plan/host_plan.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace penstock::plan {
namespace {

using base::Error;
using base::ErrorKind;
using device::host::Stream;
using std::chrono::microseconds;

class TestSink final : public transport::Sink {
 public:
  void fail(const Error& error) noexcept override { error_.set(error); }
  void blocked_since(transport::Waiter& waiter) noexcept override {
    const std::lock_guard lock(mutex_);
    blocked_ = &waiter;
    ++times_blocked_;
  }
  void unblocked(transport::Waiter&) noexcept override {
    const std::lock_guard lock(mutex_);
    blocked_ = nullptr;
  }
  template <class Act>
  void when_blocked(Act act) {
    for (;; std::this_thread::yield()) {
      const std::lock_guard lock(mutex_);
      if (!blocked_) continue;
      act(*blocked_);
      return;
    }
  }
  std::optional<Error> error() {
    const Error* const first = error_.get();
    return first != nullptr ? std::optional(*first) : std::nullopt;
  }
  int times_blocked() {
    const std::lock_guard lock(mutex_);
    return times_blocked_;
  }

 private:
  std::mutex mutex_;
  transport::Waiter* blocked_ = nullptr;
  int times_blocked_ = 0;
};

class TestPlan final : public HostPlan {
 public:
  TestPlan() { set_label("receive from rank 3 (tag 7)"); }
  transport::PairState pair_state(protocol::Epoch) const noexcept override {
    return transport::PairState::serves;
  }
  std::string describe() const override { return "epoch 1"; }
  std::string path() const override { return "test"; }

  std::atomic<std::uint64_t> arrived{0};  // waits that may end
  std::atomic<bool> hopeless_now{false};
  std::atomic<bool> arrives_with_hopeless{false};
  std::atomic<bool> moves{false};  // somebody reads or writes the buffer
  std::optional<Error> start_error;
  int starts_put_off = 0;  // steps until the next start can be carried out
  // The worker's own, read after synchronize().
  std::uint64_t starts = 0;
  std::uint64_t waits = 0;
  int closed = 0;
  int poisoned = 0;

 protected:
  std::optional<Error> run_start(bool& later) noexcept override {
    if (start_error) return start_error;
    later = starts_put_off > 0;
    if (later) return --starts_put_off, std::nullopt;
    ++starts;
    return std::nullopt;
  }
  bool run_wait() noexcept override {
    if (arrived.load(std::memory_order_acquire) <= waits) return false;
    ++waits;
    return true;
  }
  std::optional<Error> hopeless() noexcept override {
    if (!hopeless_now.load(std::memory_order_acquire)) return std::nullopt;
    if (arrives_with_hopeless.load()) arrived.fetch_add(1);
    return Error(ErrorKind::peer_dead, "the peer has ended");
  }
  void run_close() noexcept override { ++closed; }
  void run_poison() noexcept override { ++poisoned; }
  bool run_untouched() noexcept override { return !moves.load(); }
};

class HostPlanTest : public ::testing::Test {
 protected:
  void start_and_wait() {
    plan.start(stream, sink);
    plan.wait(stream, sink);
  }
  Stream stream{microseconds{20}};
  TestSink sink;
  TestPlan plan;
};

TEST_F(HostPlanTest, RunsStartsAndWaitsInOrder) {
  plan.arrived = 1000;
  for (int epoch = 0; epoch < 1000; ++epoch) start_and_wait();
  stream.synchronize({});
  EXPECT_EQ(plan.starts, 1000u);
  EXPECT_EQ(plan.waits, 1000u);
  EXPECT_FALSE(sink.failed());
  EXPECT_EQ(sink.times_blocked(), 0);
  EXPECT_EQ(plan.poisoned, 0);
}

TEST_F(HostPlanTest, AStartThatIsLeftForLaterIsCarriedOutOnce) {
  plan.starts_put_off = 1000;
  plan.arrived = 1;
  start_and_wait();
  stream.synchronize({});
  EXPECT_EQ(plan.starts_put_off, 0);
  EXPECT_EQ(plan.starts, 1u);
  EXPECT_EQ(plan.waits, 1u);
  EXPECT_FALSE(sink.failed());
}

TEST_F(HostPlanTest, ALongWaitIsToldOnceAndEndsWhenItsMessageComes) {
  start_and_wait();
  sink.when_blocked([&](transport::Waiter& blocked) {
    EXPECT_EQ(&blocked, &plan);
    plan.arrived = 1;
  });
  stream.synchronize({});
  EXPECT_EQ(plan.waits, 1u);
  EXPECT_EQ(sink.times_blocked(), 1);
  EXPECT_FALSE(sink.failed());
}

TEST_F(HostPlanTest, AReleasedWaitFailsItsQueueAndSpoilsThePair) {
  start_and_wait();
  start_and_wait();
  sink.when_blocked([](transport::Waiter& blocked) {
    blocked.cancel_wait(Error(ErrorKind::timeout, "too long"));
  });
  stream.synchronize({});
  ASSERT_TRUE(sink.error().has_value());
  EXPECT_EQ(sink.error()->kind(), ErrorKind::timeout);
  EXPECT_EQ(sink.error()->text(), "receive from rank 3 (tag 7): too long");
  EXPECT_EQ(plan.starts, 1u);  // the second one was suppressed
  EXPECT_EQ(plan.poisoned, 1);
}

TEST_F(HostPlanTest, AReleaseThatComesTooLateIsForgotten) {
  start_and_wait();
  sink.when_blocked([&](transport::Waiter& blocked) {
    // The wait cannot tell the sink that it has ended before this returns.
    plan.arrived = 1;
    std::this_thread::yield();
    blocked.cancel_wait(Error(ErrorKind::timeout, "too long"));
  });
  stream.synchronize({});
  const bool too_late = plan.waits == 1;
  EXPECT_EQ(sink.failed(), !too_late);
  if (!too_late) return;
  plan.arrived = 1;
  start_and_wait();
  sink.when_blocked([&](transport::Waiter&) { plan.arrived = 2; });
  stream.synchronize({});
  EXPECT_FALSE(sink.failed());
  EXPECT_EQ(plan.waits, 2u);
}

TEST_F(HostPlanTest, AHopelessWaitFails) {
  plan.hopeless_now = true;
  start_and_wait();
  stream.synchronize({});
  ASSERT_TRUE(sink.error().has_value());
  EXPECT_EQ(sink.error()->kind(), ErrorKind::peer_dead);
  EXPECT_EQ(plan.poisoned, 1);
}

TEST_F(HostPlanTest, AMessageThatCameJustBeforeItsSenderWentCounts) {
  plan.hopeless_now = true;
  plan.arrives_with_hopeless = true;
  start_and_wait();
  stream.synchronize({});
  EXPECT_EQ(plan.waits, 1u);
  EXPECT_FALSE(sink.failed());
  EXPECT_EQ(plan.poisoned, 0);
}

TEST_F(HostPlanTest, AfterAFailedStartTheWaitEndsAtOnce) {
  plan.start_error = Error(ErrorKind::buffer, "no buffer is free");
  start_and_wait();
  stream.synchronize({});
  ASSERT_TRUE(sink.error().has_value());
  EXPECT_EQ(sink.error()->kind(), ErrorKind::buffer);
  EXPECT_EQ(plan.poisoned, 1);
}

TEST_F(HostPlanTest, OnAFailedQueueStartsDoNothingAndThePeerIsTold) {
  sink.fail(Error(ErrorKind::timeout, "another request"));
  start_and_wait();
  stream.synchronize({});
  EXPECT_EQ(plan.starts, 0u);
  EXPECT_EQ(plan.poisoned, 1);
  EXPECT_EQ(sink.error()->text(), "another request");
}

TEST_F(HostPlanTest, OnAFailedQueueAWaitTakesWhatIsThereAndElseEnds) {
  TestPlan other;
  plan.start(stream, sink);
  other.start(stream, sink);
  stream.synchronize({});
  sink.fail(Error(ErrorKind::timeout, "a third request"));
  plan.arrived = 1;
  plan.wait(stream, sink);
  other.wait(stream, sink);
  stream.synchronize({});
  EXPECT_EQ(plan.waits, 1u);
  EXPECT_EQ(plan.poisoned, 0);
  EXPECT_EQ(other.waits, 0u);
  EXPECT_EQ(other.poisoned, 1);
}

// And says meanwhile that it waits, so that a report names it.
TEST_F(HostPlanTest, OnAFailedQueueAWaitLastsUntilNothingMovesItsBuffer) {
  plan.moves = true;
  plan.start(stream, sink);
  stream.synchronize({});
  sink.fail(Error(ErrorKind::timeout, "another request"));
  plan.wait(stream, sink);
  sink.when_blocked([](transport::Waiter&) {});
  EXPECT_FALSE(stream.idle());
  EXPECT_EQ(plan.poisoned, 1);
  plan.moves = false;
  stream.synchronize({});
  EXPECT_EQ(plan.waits, 0u);
}

TEST_F(HostPlanTest, AReleasedWaitLastsUntilNothingMovesItsBuffer) {
  plan.moves = true;
  start_and_wait();
  sink.when_blocked(
      [](transport::Waiter& waiter) { waiter.cancel_wait(Error(ErrorKind::timeout, "too late")); });
  while (!sink.failed()) std::this_thread::yield();
  EXPECT_FALSE(stream.idle());
  plan.moves = false;
  stream.synchronize({});
  EXPECT_EQ(sink.error()->kind(), ErrorKind::timeout);
}

TEST_F(HostPlanTest, ASpoiledPairFailsTheNextQueueToo) {
  sink.fail(Error(ErrorKind::timeout, "another request"));
  start_and_wait();
  TestSink next;
  plan.start(stream, next);
  plan.wait(stream, next);
  stream.synchronize({});
  EXPECT_TRUE(next.failed());
  EXPECT_EQ(plan.starts, 0u);
  EXPECT_EQ(plan.poisoned, 1);
}

TEST_F(HostPlanTest, CloseTellsThePeerAndThenItsCaller) {
  plan.arrived = 1;
  start_and_wait();
  bool ended = false;
  plan.close(
      stream, [](void* argument) { *static_cast<bool*>(argument) = true; }, &ended);
  stream.synchronize({});
  EXPECT_TRUE(ended);
  EXPECT_EQ(plan.closed, 1);
  EXPECT_EQ(plan.waits, 1u);
}

// The next stream waits for the wait's end, and for nothing that stands behind it.
TEST_F(HostPlanTest, AnotherStreamFollowsTheWaitAlone) {
  Stream other{microseconds{0}};
  std::atomic<bool> open{false};
  const auto pass = [](void* gate) { static_cast<std::atomic<bool>*>(gate)->wait(false); };
  const auto count = [](void* counter) { ++*static_cast<std::atomic<int>*>(counter); };
  std::atomic<int> passed{0};
  start_and_wait();
  stream.launch(pass, &open);
  plan.hand_over(&stream, other);
  other.launch(count, &passed);
  EXPECT_FALSE(other.idle());
  EXPECT_EQ(passed, 0);
  plan.arrived = 1;
  other.synchronize({});
  EXPECT_EQ(passed, 1);
  EXPECT_FALSE(stream.idle()) << "behind the wait it is held";
  // A wait that has ended is waited for by nobody.
  plan.hand_over(nullptr, other);
  EXPECT_TRUE(other.idle());
  open = true;
  open.notify_all();
  stream.synchronize({});
}

TEST_F(HostPlanTest, StreamsInTurnShareNoWordOfThePlan) {
  Stream second{microseconds{0}}, third{microseconds{20}};
  Stream* const streams[] = {&stream, &second, &third};
  constexpr std::uint64_t epochs = 3000;
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    Stream& on = *streams[epoch % 3];
    if (epoch > 0) plan.hand_over(streams[(epoch + 2) % 3], on);
    plan.start(on, sink);
    plan.wait(on, sink);
    plan.arrived.fetch_add(1, std::memory_order_release);
  }
  for (Stream* each : streams) each->synchronize({});
  EXPECT_EQ(plan.starts, epochs);
  EXPECT_EQ(plan.waits, epochs);
}

class ForeignStream final : public device::Stream {
 public:
  ForeignStream() : device::Stream(device::StreamKind::cuda) {}
  void synchronize(const std::function<bool()>&) override {}
  bool idle() const override { return true; }
};

TEST_F(HostPlanTest, RefusesOtherStreams) {
  ForeignStream foreign;
  EXPECT_NO_THROW(plan.check_stream(stream));
  try {
    plan.check_stream(foreign);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
  }
}

}  // namespace
}  // namespace penstock::plan
