// SPDX-License-Identifier: Apache-2.0
// What a queue does when a call fails: an error of use changes nothing, all requests of an array
// are enqueued or none, and only an error of communication frees the queue that is being freed.
#include "core/queue.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/library.hpp"
#include "core/matched_request.hpp"
#include "core/queues.hpp"
#include "core/registry.hpp"

namespace penstock::core {
namespace {

using base::Error;
using base::ErrorKind;

// A stream that runs nothing, in which calls can be made to fail.
class TestStream final : public device::Stream {
 public:
  TestStream() : device::Stream(device::StreamKind::cuda) {}
  void make_room(std::size_t pieces) override {
    if (pieces > room) throw Error(ErrorKind::resources, "no room");
  }
  std::uint64_t capture() const override { return in_capture; }
  bool is_captured() const noexcept override { return in_capture != 0; }
  void come_behind(const device::Stream& other) noexcept override { behind.insert(&other); }
  void synchronize(const std::function<bool()>&) override {
    if (synchronize_error) throw Error(*synchronize_error);
  }
  bool idle() const override { return true; }

  std::uint64_t in_capture = 0;
  std::set<const device::Stream*> behind;
  std::size_t room = 1000;
  std::optional<Error> synchronize_error;
};

// What has been asked of the plan, which the request owns.
struct Calls {
  int starts = 0;
  int waits = 0;
  int hand_overs = 0;
  int flushed = 0;
  device::Stream* last = nullptr;
  device::Stream* closed_on = nullptr;
  bool out_of_memory = false;
  bool wait_fails = false;
  bool cannot_change = false;
  bool given_up = false;
  transport::Epoch closed = 0;  // the first epoch that the peer does not serve; 0: it serves all
};

class TestPlan : public transport::Plan {
 public:
  explicit TestPlan(Calls& calls) : calls_(calls) {}
  void check_stream(const device::Stream&) const override {}
  void start(device::Stream&, transport::Sink&) override {
    if (calls_.out_of_memory) throw Error(ErrorKind::resources, "no memory");
    ++calls_.starts;
  }
  void wait(device::Stream&, transport::Sink&) override {
    if (calls_.out_of_memory || calls_.wait_fails) throw Error(ErrorKind::resources, "no memory");
    ++calls_.waits;
  }
  void hand_over(device::Stream* last, device::Stream&) override {
    if (calls_.cannot_change) throw Error(ErrorKind::stream, "cannot change");
    ++calls_.hand_overs;
    calls_.last = last;
  }
  void wait_flushed(device::Stream&) noexcept override { ++calls_.flushed; }
  void close(device::Stream& stream, void (*ended)(void*), void* argument) override {
    calls_.closed_on = &stream;
    ended(argument);
  }
  void close() override {}
  transport::PairState pair_state(transport::Epoch epoch) const noexcept override {
    using transport::PairState;
    if (calls_.given_up) return PairState::given_up;
    return calls_.closed != 0 && epoch >= calls_.closed ? PairState::peer_closed
                                                        : PairState::serves;
  }
  void cancel_wait(const Error&) noexcept override {}
  std::string describe() const override { return ""; }
  std::string path() const override { return "test"; }

 private:
  Calls& calls_;
};

class QueueTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (std::size_t i = 0; i < count; ++i) {
      requests.push_back(std::make_unique<MatchedRequest>(Recording{.kind = RequestKind::receive}));
      requests[i]->take_match({}, std::make_unique<TestPlan>(calls[i]), "test");
      requests[i]->publish_match();
      all.push_back(requests[i].get());
    }
    handle = queues.create_queue(stream, {});
    queue = queues.queues().find(handle);
  }
  template <class Call>
  void expect_error(ErrorKind kind, Call&& call) {
    try {
      call();
      FAIL() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.text();
    }
  }
  int starts() const {
    int sum = 0;
    for (const Calls& each : calls) sum += each.starts;
    return sum;
  }
  int waits() const {
    int sum = 0;
    for (const Calls& each : calls) sum += each.waits;
    return sum;
  }

  static constexpr std::size_t count = 3;
  std::array<Calls, count> calls{};
  std::vector<std::unique_ptr<MatchedRequest>> requests;
  std::vector<StreamOperation*> all;
  Queues queues;
  std::shared_ptr<TestStream> stream = std::make_shared<TestStream>();
  std::uintptr_t handle = 0;
  Queue* queue = nullptr;
};

TEST_F(QueueTest, RunFindsRoomForAllBeforeItStartsAny) {
  stream->room = 3 * count - 1;
  expect_error(ErrorKind::resources, [&] { queue->run(count, all.data()); });
  EXPECT_EQ(starts(), 0);
  EXPECT_EQ(all[0]->started_on, nullptr);
  stream->room = 3 * count;  // starts, waits, and orders behind other streams
  queue->run(count, all.data());
  EXPECT_EQ(starts(), static_cast<int>(count));
  EXPECT_EQ(waits(), static_cast<int>(count));
  EXPECT_EQ(all[0]->started_on, nullptr);
}

TEST_F(QueueTest, ARunWhoseWaitCannotBeEnqueuedFailsTheQueue) {
  calls[1].wait_fails = true;
  expect_error(ErrorKind::resources, [&] { queue->run(count, all.data()); });
  EXPECT_TRUE(queue->failed());
}

TEST_F(QueueTest, FreeInACaptureChangesNothing) {
  queue->start(count, all.data());
  stream->in_capture = 7;
  expect_error(ErrorKind::stream, [&] { queues.free_queue(handle, {}); });
  ASSERT_EQ(queues.queues().find(handle), queue);
  stream->in_capture = 0;
  queue->wait(count, all.data());
  EXPECT_EQ(waits(), 3);
  EXPECT_FALSE(queues.free_queue(handle, {}).has_value());
  EXPECT_EQ(queues.queues().find(handle), nullptr);
}

TEST_F(QueueTest, FreeInACaptureChangesNothingAfterAFailureEither) {
  queue->fail(Error(ErrorKind::timeout, "too late"));
  stream->in_capture = 7;
  expect_error(ErrorKind::stream, [&] { queues.free_queue(handle, {}); });
  EXPECT_EQ(queues.queues().find(handle), queue);
  stream->in_capture = 0;
  const auto failure = queues.free_queue(handle, {});
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->kind(), ErrorKind::timeout);
  EXPECT_EQ(queues.queues().find(handle), nullptr);
}

TEST_F(QueueTest, FreeWithoutMemoryChangesNothing) {
  queue->start(count, all.data());
  calls[1].out_of_memory = true;
  expect_error(ErrorKind::resources, [&] { queues.free_queue(handle, {}); });
  ASSERT_EQ(queues.queues().find(handle), queue);
  calls[1].out_of_memory = false;
  EXPECT_EQ(requests[1]->started_on, queue);
  EXPECT_EQ(requests[2]->started_on, queue);
  stream->synchronize_error = Error(ErrorKind::resources, "no memory");
  expect_error(ErrorKind::resources, [&] { queues.free_queue(handle, {}); });
  ASSERT_EQ(queues.queues().find(handle), queue);
  stream->synchronize_error.reset();
  EXPECT_FALSE(queues.free_queue(handle, {}).has_value());
  EXPECT_EQ(waits(), 3);
}

TEST_F(QueueTest, AStreamThatHasFailedFailsItsQueueWhichIsFreed) {
  stream->synchronize_error = Error(ErrorKind::unsupported, "an illegal address");
  const auto failure = queues.free_queue(handle, {});
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->text(), "an illegal address");
  EXPECT_EQ(queues.queues().find(handle), nullptr);
}

TEST_F(QueueTest, G7_AnArrayWithoutRoomIsNotEnqueued) {
  stream->room = 2;
  expect_error(ErrorKind::resources, [&] { queue->start(count, all.data()); });
  EXPECT_EQ(starts(), 0);
  for (StreamOperation* each : all) EXPECT_EQ(each->started_on, nullptr);
  stream->room = 3;
  queue->start(count, all.data());
  stream->room = 2;
  expect_error(ErrorKind::resources, [&] { queue->wait(count, all.data()); });
  EXPECT_EQ(waits(), 0);
  for (StreamOperation* each : all) EXPECT_EQ(each->started_on, queue);
  EXPECT_FALSE(queue->failed());
  stream->room = 3;
  queue->wait(count, all.data());
  EXPECT_EQ(waits(), 3);
}

TEST_F(QueueTest, G7_ASingleRequestWithoutMemoryIsNotEnqueued) {
  calls[0].out_of_memory = true;
  expect_error(ErrorKind::resources, [&] { queue->start(1, all.data()); });
  EXPECT_EQ(requests[0]->started_on, nullptr);
  EXPECT_EQ(requests[0]->starts(), 0u);
  calls[0].out_of_memory = false;
  queue->start(1, all.data());
  calls[0].out_of_memory = true;
  expect_error(ErrorKind::resources, [&] { queue->wait(1, all.data()); });
  EXPECT_EQ(requests[0]->started_on, queue);
  EXPECT_FALSE(queue->failed());
}

// The room was there, and another thread has taken it.
TEST_F(QueueTest, AnArrayThatIsEnqueuedInPartFailsTheQueue) {
  calls[1].out_of_memory = true;
  expect_error(ErrorKind::resources, [&] { queue->start(count, all.data()); });
  EXPECT_EQ(starts(), 1);
  EXPECT_EQ(requests[0]->started_on, queue);
  EXPECT_EQ(requests[1]->started_on, nullptr);
  EXPECT_EQ(requests[2]->started_on, nullptr);
  EXPECT_TRUE(queue->failed());
  expect_error(ErrorKind::resources, [&] { queue->start(1, &all[2]); });
}

// What is no request of MPI's: it is complete when its owner says so.
class TestOperation : public StreamOperation {
 public:
  explicit TestOperation(std::unique_ptr<transport::Plan> plan) { take_plan(std::move(plan)); }
  void open() { set_complete(); }
  std::string label() const override { return "group 4"; }
  std::shared_ptr<const group::Communicator> communicator() const override { return nullptr; }
  [[noreturn]] void refuse_incomplete() const override {
    throw RequestError(*this, ErrorKind::argument, " is not open");
  }
};

TEST_F(QueueTest, TakesWhateverIsAStreamOperation) {
  auto group = std::make_unique<TestOperation>(std::make_unique<TestPlan>(calls[0]));
  StreamOperation* const both[] = {group.get(), all[1]};
  expect_error(ErrorKind::argument, [&] { queue->start(2, both); });
  EXPECT_EQ(starts(), 0);
  group->open();
  queue->start(2, both);
  EXPECT_EQ(group->started_on, queue);
  queue->wait(2, both);
  EXPECT_EQ(calls[0].waits, 1);
  StreamOperation::close(group.release());
  EXPECT_EQ(calls[0].closed_on, stream.get());
}

// A window's exposure: the queue leaves its end to the wait of its own.
class OpenOperation final : public TestOperation {
 public:
  using TestOperation::TestOperation;
  bool ends_with_queue() const noexcept override { return false; }
};

TEST_F(QueueTest, WhatDoesNotEndWithTheQueueIsLeftToItsOwnWait) {
  auto exposure = std::make_unique<OpenOperation>(std::make_unique<TestPlan>(calls[0]));
  exposure->open();
  StreamOperation* const mixed[] = {all[1], exposure.get(), all[2]};
  queue->start(3, mixed);
  expect_error(ErrorKind::in_use, [&] { queue->refuse_unwaited(); });
  queue->wait_outstanding();
  EXPECT_EQ(calls[1].waits, 1);
  EXPECT_EQ(calls[2].waits, 1);
  EXPECT_EQ(calls[0].waits, 0);
  queue->complete({});
  EXPECT_TRUE(queue->test());
  EXPECT_EQ(exposure->started_on, queue);
  StreamOperation* const alone = exposure.get();
  queue->wait(1, &alone);
  EXPECT_EQ(calls[0].waits, 1);
  queue->refuse_unwaited();
  // A queue that has failed takes no wait, and leaves it for good.
  queue->start(1, &alone);
  queue->fail(Error(ErrorKind::internal, "planted"));
  queue->refuse_unwaited();
  queue->give_up_stream();
  EXPECT_EQ(exposure->started_on, nullptr);
  StreamOperation::close(exposure.release());
}

// Its half would be closed out of order, beside what still runs.
TEST_F(QueueTest, FreeOfARequestInACaptureChangesNothing) {
  constexpr Handle handle_of_request = 0x6666000;
  Registry::get().record(handle_of_request, Recording{.kind = RequestKind::receive});
  MatchedRequest* request = Registry::get().find(handle_of_request);
  request->take_match({}, std::make_unique<TestPlan>(calls[0]), "test");
  request->publish_match();
  StreamOperation* const operation = request;
  queue->start(1, &operation);
  queue->wait(1, &operation);
  stream->in_capture = 7;
  expect_error(ErrorKind::stream, [&] { free_request(handle_of_request); });
  ASSERT_EQ(Registry::get().find(handle_of_request), request);
  stream->in_capture = 0;
  free_request(handle_of_request);
  EXPECT_EQ(Registry::get().find(handle_of_request), nullptr);
}

TEST_F(QueueTest, WaitsOfAllAreInTheCaptureOfTheirStarts) {
  queue->start(count, all.data());
  stream->in_capture = 7;
  expect_error(ErrorKind::not_started, [&] { queue->wait_outstanding(); });
  EXPECT_EQ(waits(), 0);
  stream->in_capture = 0;
  queue->wait_outstanding();
  EXPECT_EQ(waits(), 3);
}

// Nobody can wait for it any more, so it is told once.
TEST_F(QueueTest, AStartThatWasCapturedWithoutItsWaitIsToldAtTheEnd) {
  stream->in_capture = 7;
  queue->start(1, all.data());
  stream->in_capture = 0;
  queue->start(2, all.data() + 1);
  expect_error(ErrorKind::not_started, [&] { queue->complete({}); });
  EXPECT_EQ(waits(), 2);
  queue->complete({});
  EXPECT_FALSE(queues.free_queue(handle, {}).has_value());
}

TEST_F(QueueTest, AStartThatWasCapturedWithoutItsWaitLeavesTheQueueThoughItFails) {
  stream->in_capture = 7;
  queue->start(1, all.data());
  stream->in_capture = 0;
  stream->synchronize_error = Error(ErrorKind::resources, "out of memory");
  expect_error(ErrorKind::resources, [&] { queue->complete({}); });
  EXPECT_EQ(all[0]->started_on, nullptr);
}

// The captured starts have not run: the peer still serves what it closed behind.
TEST_F(QueueTest, CapturedStartsDoNotCountAsMade) {
  stream->in_capture = 7;
  for (int i = 0; i < 5; ++i) {
    queue->start(1, all.data());
    queue->wait(1, all.data());
  }
  stream->in_capture = 0;
  calls[0].closed = 4;
  for (int i = 0; i < 3; ++i) {
    queue->start(1, all.data());
    queue->wait(1, all.data());
  }
  expect_error(ErrorKind::peer_freed, [&] { queue->start(1, all.data()); });
  EXPECT_EQ(calls[0].starts, 8);
}

// Another queue that it was used on has failed.
TEST_F(QueueTest, AGivenUpPairIsRefusedAtTheCall) {
  calls[1].given_up = true;
  expect_error(ErrorKind::transport, [&] { queue->start(2, all.data()); });
  EXPECT_EQ(calls[0].starts, 0) << "all or none";
  EXPECT_EQ(all[0]->started_on, nullptr);
  queue->start(1, all.data());
  EXPECT_EQ(calls[0].starts, 1) << "the queue has not failed";
}

class ChangedStream : public QueueTest {
 protected:
  void epoch(Queue& on) {
    on.start(1, all.data());
    on.wait(1, all.data());
  }
  std::shared_ptr<TestStream> second = std::make_shared<TestStream>();
  std::uintptr_t second_handle = queues.create_queue(second, {});
  Queue* other = queues.queues().find(second_handle);
};

TEST_F(ChangedStream, IsOrderedOnceAtEachChange) {
  epoch(*queue);
  epoch(*queue);
  EXPECT_EQ(calls[0].hand_overs, 0);
  EXPECT_EQ(calls[0].flushed, 0) << "costs nothing without a change";
  epoch(*other);
  EXPECT_EQ(calls[0].hand_overs, 1);
  EXPECT_EQ(calls[0].last, stream.get());
  EXPECT_EQ(calls[0].flushed, 1);
  epoch(*other);
  EXPECT_EQ(calls[0].hand_overs, 1);
  epoch(*queue);
  EXPECT_EQ(calls[0].hand_overs, 2);
  EXPECT_EQ(calls[0].last, second.get());
  other->start(1, all.data());
  queue->wait_outstanding();
  other->wait_outstanding();
  EXPECT_EQ(calls[0].flushed, 4);
}

TEST_F(ChangedStream, AnErrorStartsNothing) {
  queue->start(count, all.data());
  queue->wait(count, all.data());
  calls[1].cannot_change = true;
  expect_error(ErrorKind::stream, [&] { other->start(count, all.data()); });
  EXPECT_EQ(starts(), 3);
  for (StreamOperation* each : all) EXPECT_EQ(each->started_on, nullptr);
  queue->start(count, all.data());  // back on the old stream
  EXPECT_EQ(starts(), 6);
}

TEST_F(ChangedStream, AnErrorInACaptureLeavesNoTrace) {
  stream->in_capture = second->in_capture = 8;
  epoch(*queue);
  calls[0].cannot_change = true;
  expect_error(ErrorKind::stream, [&] { other->start(1, all.data()); });
  stream->in_capture = 0;
  EXPECT_FALSE(all[0]->in_captured_stream()) << "it was never captured on the second stream";
  second->in_capture = 0;
}

// A graph's launch is ordered by the program; but two streams of one capture are ordered here.
TEST_F(ChangedStream, IsNotOrderedBetweenACaptureAndWhatIsOutside) {
  stream->in_capture = 7;
  epoch(*queue);
  epoch(*other);
  EXPECT_EQ(calls[0].hand_overs, 0);
  second->in_capture = 8;
  epoch(*other);
  stream->in_capture = 8;
  epoch(*queue);
  EXPECT_EQ(calls[0].hand_overs, 1);
}

TEST_F(ChangedStream, IsOrderedInEachOfTwoCapturesThatTakeTurns) {
  const auto third = std::make_shared<TestStream>();
  const std::uintptr_t third_handle = queues.create_queue(third, {});
  Queue* last = queues.queues().find(third_handle);
  stream->in_capture = third->in_capture = 7;
  second->in_capture = 8;
  epoch(*queue);
  epoch(*other);
  epoch(*last);
  EXPECT_EQ(calls[0].hand_overs, 1);
  EXPECT_EQ(calls[0].last, stream.get());
  third->in_capture = 0;
  queues.free_queue(third_handle, {});
}

TEST_F(ChangedStream, IsOrderedInTheSecondCaptureOfItsStream) {
  stream->in_capture = 7;
  epoch(*queue);
  stream->in_capture = second->in_capture = 8;
  epoch(*queue);
  epoch(*other);
  EXPECT_EQ(calls[0].hand_overs, 1);
}

TEST_F(ChangedStream, IsOrderedThoughItWasCapturedInBetween) {
  epoch(*queue);
  second->in_capture = 7;
  epoch(*other);
  second->in_capture = 0;
  EXPECT_EQ(calls[0].hand_overs, 0);
  epoch(*other);
  EXPECT_EQ(calls[0].hand_overs, 1);
  EXPECT_EQ(calls[0].last, stream.get());
}

// Graphs may still run on the streams of captures.
TEST_F(ChangedStream, ItsEndComesBehindTheLastStreamAndTheLastStartOutsideCaptures) {
  epoch(*queue);
  second->in_capture = 7;
  epoch(*other);
  second->in_capture = 0;
  MatchedRequest::close(requests[0].release());
  EXPECT_EQ(calls[0].closed_on, second.get());
  EXPECT_EQ(second->behind, std::set<const device::Stream*>{stream.get()});
  EXPECT_EQ(calls[0].hand_overs, 0);
}

TEST_F(ChangedStream, ItsEndComesBehindACapturedStreamThatHasBeenUsedOutsideSince) {
  stream->in_capture = 7;
  epoch(*queue);
  stream->in_capture = 0;
  epoch(*queue);
  epoch(*other);
  MatchedRequest::close(requests[0].release());
  EXPECT_EQ(calls[0].closed_on, second.get());
  EXPECT_EQ(second->behind, std::set<const device::Stream*>{stream.get()});
}

TEST_F(ChangedStream, ItsEndComesBehindAllStreamsOfACapture) {
  stream->in_capture = second->in_capture = 7;
  epoch(*queue);
  epoch(*other);
  stream->in_capture = second->in_capture = 0;
  MatchedRequest::close(requests[0].release());
  EXPECT_EQ(calls[0].closed_on, second.get());
  EXPECT_EQ(second->behind, std::set<const device::Stream*>{stream.get()});
}

// It follows on the other stream, but is not started: it has not been used in that capture.
TEST_F(ChangedStream, IsOrderedThoughACallHasFailedInBetween) {
  stream->in_capture = 7;
  queue->start(count, all.data());
  queue->wait(count, all.data());
  second->room = 0;
  expect_error(ErrorKind::resources, [&] { other->start(count, all.data()); });
  second->room = 1000;
  second->in_capture = 7;
  epoch(*other);
  EXPECT_EQ(calls[0].hand_overs, 1);
}

TEST_F(ChangedStream, ItsEndComesBehindTheLastStartOutsideThoughTheStreamOfACaptureIsGone) {
  epoch(*queue);
  second->in_capture = 7;
  epoch(*other);
  second->in_capture = 0;
  queues.free_queue(second_handle, {});
  second.reset();
  MatchedRequest::close(requests[0].release());
  EXPECT_EQ(calls[0].closed_on, stream.get());
}

TEST_F(ChangedStream, AStreamThatHasBeenFreedIsNull) {
  epoch(*queue);
  queues.free_queue(handle, {});
  stream.reset();
  epoch(*other);
  EXPECT_EQ(calls[0].hand_overs, 1);
  EXPECT_EQ(calls[0].last, nullptr);
}

}  // namespace
}  // namespace penstock::core
