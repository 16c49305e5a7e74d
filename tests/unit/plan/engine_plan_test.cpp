// SPDX-License-Identifier: Apache-2.0
// What a plan over an engine believes of bad news, and how long it waits for a peer that says
// nothing, over an engine that says what the test wants.
#include "plan/engine_plan.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/first_error.hpp"

namespace penstock::plan {
namespace {

using base::Error;
using base::ErrorKind;
using protocol::Epoch;
using protocol::Mode;
using std::chrono::milliseconds;

struct Queue final : transport::Sink {
  void fail(const Error& error) noexcept override { error_.set(error); }
  void blocked_since(transport::Waiter&) noexcept override {}
  void unblocked(transport::Waiter&) noexcept override {}
  std::optional<ErrorKind> kind() const {
    const Error* const error = error_.get();
    return error == nullptr ? std::nullopt : std::optional(error->kind());
  }
};

struct NoGaps {
  void before_start() const noexcept {}
  void after_wait() const noexcept {}
};

struct End {
  Mode mode = Mode::standard;
  bool is_send = false;
  int peer = 1;
  base::FirstError failure;
  std::atomic<bool> complete{false}, closed{false};

  bool sends() const noexcept { return is_send; }
  bool buffered() const noexcept { return is_send && mode == Mode::buffered; }
  bool closed_before(Epoch) const noexcept { return closed; }
  std::optional<Error> broken(Epoch) const {
    if (const Error* error = failure.get()) return *error;
    return std::nullopt;
  }
  bool wait_is_over(Epoch) const noexcept { return buffered() || complete; }
  static bool end_wait(Epoch) noexcept { return false; }
  static bool buffer_free(Epoch) noexcept { return true; }
  static unsigned buffers() noexcept { return 1; }
  static std::optional<Error> fill(Epoch) { return std::nullopt; }
  static bool trigger(Epoch) noexcept { return true; }
  static NoGaps packed() noexcept { return {}; }
  static std::string describe() { return "test"; }
  static std::string describe_given_up() { return "test"; }
  static std::string path() { return "test"; }
};

struct Engine {
  milliseconds limit{0};
  bool is_dead = false, is_silent = false, here = false;
  std::optional<ErrorKind> refusal;  // of what a start begins
  std::atomic<bool> moves{true};
  int silences = 0, answers = 0;

  bool dead(int) const noexcept { return is_dead; }
  bool silent(int) const noexcept { return is_silent; }
  void note_silence(int) noexcept { ++silences; }
  void note_answer(int) noexcept { ++answers; }
  milliseconds timeout() const noexcept { return limit; }
  void mark_ready(End& end) noexcept {
    if (refusal) end.failure.set(Error(*refusal, "refused"));
  }
  template <class Done>
  void poll_until(End&, Done) noexcept {}
  void poll_until_sure(End&) noexcept {}
  void poll(End&) noexcept {}
  void leave() noexcept {}
  bool check_ready() const noexcept { return false; }
  bool arrived(End&, Epoch) const noexcept { return here; }
  BufferState find_buffer(End&, Epoch, bool&) noexcept { return BufferState::free; }
  void expect_start(End&) noexcept {}
  void release(std::shared_ptr<End>&) noexcept {}
  void close(End&, Epoch) noexcept {}
  void poison(End&, Epoch, ErrorKind) noexcept {}
  bool untouched(End&) const noexcept { return !moves; }
};

class EnginePlanTest : public ::testing::Test {
 protected:
  // True: the wait has ended.
  bool poll() { return plan().poll_step(queue); }
  void start() {
    while (!plan().start_step(queue)) std::this_thread::yield();
  }
  void poll_until_ended() {
    while (!poll()) std::this_thread::yield();
  }
  void give_up() {
    start();
    queue.fail(Error(ErrorKind::peer_freed, "another pair of the queue"));
  }
  HostPlan& plan() {
    if (!plan_) {
      plan_.emplace(engine, end);
      engine.answers = 0;
    }
    return *plan_;
  }

  Engine engine;
  std::shared_ptr<End> end = std::make_shared<End>();
  Queue queue;

 private:
  std::optional<EnginePlan<Engine, End>> plan_;
};

TEST_F(EnginePlanTest, APeerThatSaysNothingIsWaitedForUntilTheTimeOut) {
  engine.limit = milliseconds(50);
  give_up();
  EXPECT_FALSE(poll());
  poll_until_ended();
  EXPECT_EQ(engine.silences, 1);
}

TEST_F(EnginePlanTest, AfterASilenceTheNextMessageIsLetGoSoon) {
  engine.limit = std::chrono::hours(1);
  engine.is_silent = true;
  give_up();
  EXPECT_FALSE(poll());
  poll_until_ended();
  EXPECT_EQ(engine.silences, 1);
}

TEST_F(EnginePlanTest, AnAnswerEndsTheWaitAndTheSilence) {
  engine.limit = std::chrono::hours(1);
  give_up();
  EXPECT_FALSE(poll());
  end->closed = true;
  engine.moves = false;
  EXPECT_TRUE(poll());
  EXPECT_EQ(engine.answers, 1);
  EXPECT_EQ(engine.silences, 0);
}

TEST_F(EnginePlanTest, AMatchIsAnAnswer) {
  const EnginePlan<Engine, End> matched(engine, end);
  EXPECT_EQ(engine.answers, 1);
}

// A receive that nothing moves into ends without a word.
TEST_F(EnginePlanTest, WhatNobodyMovesAnswersForNobody) {
  engine.limit = std::chrono::hours(1);
  engine.moves = false;
  give_up();
  EXPECT_TRUE(poll());
  EXPECT_EQ(engine.answers, 0);
}

// Its word came before it fell silent.
TEST_F(EnginePlanTest, AWordFromBeforeIsNoAnswer) {
  engine.limit = std::chrono::hours(1);
  start();
  end->closed = true;
  queue.fail(Error(ErrorKind::peer_freed, "another pair of the queue"));
  EXPECT_FALSE(poll());
  engine.moves = false;
  EXPECT_TRUE(poll());
  EXPECT_EQ(engine.answers, 0);
}

// Its wait does not look any more.
TEST_F(EnginePlanTest, ABufferedSendThatIsRefusedInItsStartFailsTheQueue) {
  end->is_send = true;
  end->mode = Mode::buffered;
  engine.refusal = ErrorKind::transport;
  start();
  EXPECT_EQ(queue.kind(), ErrorKind::transport);
}

// The peer's word, or that it is dead, may still come and explain it.
class BadNews : public EnginePlanTest, public ::testing::WithParamInterface<ErrorKind> {};

TEST_P(BadNews, OfTheNetworkOrMpiIsNotBelievedAtOnce) {
  end->failure.set(Error(GetParam(), "told"));
  EXPECT_FALSE(plan().start_step(queue));
  engine.is_dead = true;
  start();
  EXPECT_EQ(queue.kind(), ErrorKind::peer_dead);
}

INSTANTIATE_TEST_SUITE_P(Kinds, BadNews, ::testing::Values(ErrorKind::transport, ErrorKind::mpi));

TEST_F(EnginePlanTest, AReceiveOfADeadSenderTakesWhatHasCome) {
  engine.is_dead = engine.here = true;
  start();
  EXPECT_EQ(queue.kind(), std::nullopt);
  end->complete = true;
  poll_until_ended();
  EXPECT_EQ(queue.kind(), std::nullopt);
}

TEST_F(EnginePlanTest, AReceiveOfADeadSenderFailsWhereNothingHasCome) {
  engine.is_dead = true;
  start();
  EXPECT_EQ(queue.kind(), ErrorKind::peer_dead);
}

}  // namespace
}  // namespace penstock::plan
