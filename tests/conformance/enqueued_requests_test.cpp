// SPDX-License-Identifier: Apache-2.0
// MPI's requests of enqueued messages (Q8), and what is refused (Q11) or fails (Q13).
#include <atomic>
#include <penstock/penstock.hpp>
#include <string>
#include <thread>
#include <vector>

#include "conformance/enqueued.hpp"

namespace penstock::test {
namespace {

// An exchange with the partner whose two requests the caller completes.
struct Exchange {
  explicit Exchange(EnqueueLane& lane, std::size_t bytes, std::uint64_t n)
      : number(n), out(message(bytes, rank(), n)), in(bytes) {
    lane.send(out, partner(), 1, &requests[0]);
    lane.receive(in, partner(), 1, &requests[1]);
  }
  void check() const {
    expect_message(in, partner(), number);
    EXPECT_EQ(requests[0], MPI_REQUEST_NULL);
    EXPECT_EQ(requests[1], MPI_REQUEST_NULL);
  }
  std::uint64_t number;
  Bytes out, in;
  MPI_Request requests[2];
};

TEST(EnqueuedRequests, Q8_TheyCompleteWithoutAWaitOfTheStream) {
  for (const std::size_t bytes : enqueued_sizes()) {
    EnqueueLane lane;
    Exchange exchange(lane, bytes, 1);
    lane.trigger();
    MPI_Status statuses[2];
    EXPECT_EQ(MPI_Waitall(2, exchange.requests, statuses), MPI_SUCCESS);
    int count = -1;
    MPI_Get_count(&statuses[1], MPI_BYTE, &count);
    EXPECT_EQ(count, static_cast<int>(bytes));
    EXPECT_EQ(statuses[1].MPI_SOURCE, partner());
    EXPECT_EQ(statuses[1].MPI_TAG, 1);
    exchange.check();
    lane.finish();
  }
}

TEST(EnqueuedRequests, Q8_TheyCompleteBeforeAndAfterTheWaitOfTheStream) {
  EnqueueLane lane;
  for (unsigned round = 0; round < 100; ++round) {
    Exchange exchange(lane, 5000, round);
    lane.trigger();
    if (round % 2 == 0) {
      lane.wait();
      lane.run_dry();
      for (MPI_Request& request : exchange.requests) {
        int flag = 0;
        EXPECT_EQ(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
        EXPECT_EQ(flag, 1);
      }
    } else {
      EXPECT_EQ(MPI_Wait(&exchange.requests[1], MPI_STATUS_IGNORE), MPI_SUCCESS);
      EXPECT_EQ(MPI_Wait(&exchange.requests[0], MPI_STATUS_IGNORE), MPI_SUCCESS);
      lane.wait();
    }
    exchange.check();
  }
  lane.finish();
}

TEST(EnqueuedRequests, Q8_TestSaysNoUntilTheTrigger) {
  EnqueueLane lane;
  Exchange exchange(lane, 100, 1);
  int flag = 1;
  EXPECT_EQ(MPI_Test(&exchange.requests[0], &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(flag, 0);
  MPI_Request with_null[2] = {exchange.requests[1], MPI_REQUEST_NULL};
  EXPECT_EQ(MPI_Testall(2, with_null, &flag, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(flag, 0);
  EXPECT_EQ(MPI_Request_get_status(exchange.requests[1], &flag, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(flag, 0);
  lane.trigger();
  EXPECT_EQ(MPI_Waitall(2, exchange.requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  exchange.check();
  lane.finish();
}

TEST(EnqueuedRequests, Q8_WaitanyWaitsomeAndNullRequestsStandBesideThem) {
  EnqueueLane lane;
  Exchange exchange(lane, 100000, 1);
  lane.trigger();
  MPI_Request mixed[4] = {exchange.requests[0], MPI_REQUEST_NULL, exchange.requests[1],
                          MPI_REQUEST_NULL};
  int index = -1, done = 0, indices[4];
  EXPECT_EQ(MPI_Waitany(4, mixed, &index, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_TRUE(index == 0 || index == 2) << index;
  EXPECT_EQ(MPI_Waitsome(4, mixed, &done, indices, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(done, 1);
  expect_message(exchange.in, partner(), 1);
  lane.finish();
}

TEST(EnqueuedRequests, Q8_ARequestThatIsFreedLetsItsMessageGoOn) {
  for (const bool before_trigger : {true, false}) {
    EnqueueLane lane;
    Exchange exchange(lane, 200000, 4);
    if (!before_trigger) lane.trigger();
    for (MPI_Request& request : exchange.requests)
      EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
    if (before_trigger) lane.trigger();
    lane.wait();
    lane.finish();
    exchange.check();
  }
}

// As in the paper's program: nothing completes its requests.
TEST(EnqueuedRequests, Q8_WhatIsNeverCompletedIsFreedWithTheQueue) {
  for (int round = 0; round < 3; ++round) {
    EnqueueLane lane;
    for (unsigned i = 0; i < 200; ++i) {
      Exchange exchange(lane, 16, i);
      lane.trigger();
      lane.finish();
      expect_message(exchange.in, partner(), i);
    }
  }
}

TEST(EnqueuedRequests, Q8_ProcNullCompletesWithItsTrigger) {
  EnqueueLane lane;
  Bytes buffer(8);
  MPI_Request requests[2];
  MPI_Status statuses[2];
  lane.send(buffer, MPI_PROC_NULL, 1, &requests[0]);
  lane.receive(buffer, MPI_PROC_NULL, 1, &requests[1]);
  lane.trigger();
  EXPECT_EQ(MPI_Waitall(2, requests, statuses), MPI_SUCCESS);
  EXPECT_EQ(statuses[1].MPI_SOURCE, MPI_PROC_NULL);
  EXPECT_EQ(statuses[1].MPI_TAG, MPI_ANY_TAG);
  int count = -1;
  MPI_Get_count(&statuses[1], MPI_BYTE, &count);
  EXPECT_EQ(count, 0);
  lane.finish();
}

TEST(EnqueuedRequests, Q11_WhatIsWrongIsRefusedAtTheCall) {
  const ErrorsReturn errors;
  EnqueueLane lane;
  int value = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  const auto send = [&](int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    return PST_Enqueue_send(&value, count, type, to, tag, comm, lane.queue(), &request);
  };
  const auto receive = [&](int from, int tag) {
    return PST_Enqueue_recv(&value, 1, MPI_INT, from, tag, MPI_COMM_NULL, lane.queue(), &request);
  };
  EXPECT_PST_KIND(send(-1, MPI_INT, 0, 0, MPI_COMM_NULL), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(send(1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_NULL), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(send(1, MPI_INT, size(), 0, MPI_COMM_NULL), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(send(1, MPI_INT, -7, 0, MPI_COMM_NULL), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(send(1, MPI_INT, 1, 0, MPI_COMM_SELF), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(send(1, MPI_INT, 0, -1, MPI_COMM_NULL), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(send(1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_NULL), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(receive(MPI_ANY_SOURCE, 0), PST_ERROR_ARGUMENT);
  EXPECT_NE(last_error().find("MPI_ANY_SOURCE"), std::string::npos) << last_error();
  EXPECT_PST_KIND(receive(0, MPI_ANY_TAG), PST_ERROR_ARGUMENT);
  EXPECT_NE(last_error().find("MPI_ANY_TAG"), std::string::npos) << last_error();
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  EXPECT_PST_KIND(PST_Enqueue_trigger(PST_QUEUE_NULL), PST_ERROR_QUEUE);
  EXPECT_PST_KIND(
      PST_Enqueue_send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, PST_QUEUE_NULL, nullptr),
      PST_ERROR_QUEUE);
  EnqueueLane without(MPI_COMM_NULL);
  EXPECT_PST_KIND(
      PST_Enqueue_send(&value, 1, MPI_INT, 0, 0, MPI_COMM_NULL, without.queue(), nullptr),
      PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(PST_Queue_create(MPI_COMM_WORLD, lane.stream(), nullptr), PST_ERROR_ARGUMENT);
  PST_Queue none = PST_QUEUE_NULL;
  if (queue_type == PST_QUEUE_HOST)  // a GPU's null stream is its default stream
    EXPECT_PST_KIND(PST_Queue_create(MPI_COMM_WORLD, nullptr, &none), PST_ERROR_STREAM);
  EXPECT_EQ(none, PST_QUEUE_NULL);
  // Nothing has been enqueued: the queue may be freed.
  EXPECT_PST(lane.free_queue());
}

TEST(EnqueuedRequests, Q11_ACommunicatorIsNotFreedBeforeItsMessages) {
  const ErrorsReturn errors;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  EnqueueLane lane(comm);
  int in = 0;
  const int out = 5;
  EXPECT_PST(PST_Enqueue_recv(&in, 1, MPI_INT, 0, 1, MPI_COMM_NULL, lane.queue(), nullptr));
  EXPECT_PST(PST_Enqueue_send(&out, 1, MPI_INT, 0, 1, MPI_COMM_NULL, lane.queue(), nullptr));
  EXPECT_PST_KIND(MPI_Comm_free(&comm), PST_ERROR_IN_USE);
  EXPECT_NE(comm, MPI_COMM_NULL);
  lane.trigger();
  lane.finish();
  EXPECT_EQ(in, 5);
  EXPECT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
  // The queue does not go on with the handle, which MPI may have given to another.
  MPI_Comm other;
  MPI_Comm_dup(MPI_COMM_SELF, &other);
  EXPECT_PST_KIND(PST_Enqueue_send(&out, 1, MPI_INT, 0, 1, MPI_COMM_NULL, lane.queue(), nullptr),
                  PST_ERROR_COMMUNICATOR);
  EXPECT_EQ(MPI_Comm_free(&other), MPI_SUCCESS);
}

TEST(EnqueuedRequests, Q11_TheyCannotBeCancelled) {
  const ErrorsReturn errors;
  EnqueueLane lane;
  Exchange exchange(lane, 8, 1);
  lane.trigger();
  EXPECT_NE(MPI_Cancel(&exchange.requests[1]), MPI_SUCCESS);
  EXPECT_EQ(MPI_Waitall(2, exchange.requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  exchange.check();
  lane.finish();
}

TEST(EnqueuedRequests, Q13_ATruncatedReceiveFailsItsRequestAndTheQueue) {
  const int peer = partner();
  const ErrorsReturn errors;
  {
    EnqueueLane lane;
    const Bytes out = message(100, rank(), 1);
    Bytes in(60), later(100);
    MPI_Request requests[2];
    lane.receive(in, peer, 1, &requests[0]);
    MPI_Request sent;
    MPI_Isend(out.data(), 100, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &sent);
    lane.trigger();
    MPI_Status status;
    EXPECT_PST_KIND(MPI_Wait(&requests[0], &status), PST_ERROR_TRUNCATE);
    EXPECT_NE(last_error().find("receive from rank"), std::string::npos) << last_error();
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    // The queue has failed: its next calls say so, and enqueue nothing.
    EXPECT_PST_KIND(PST_Enqueue_recv(later.data(), 100, MPI_BYTE, peer, 2, MPI_COMM_NULL,
                                     lane.queue(), &requests[1]),
                    PST_ERROR_TRUNCATE);
    EXPECT_PST_KIND(PST_Enqueue_trigger(lane.queue()), PST_ERROR_TRUNCATE);
    EXPECT_PST_KIND(PST_Queue_wait(lane.queue()), PST_ERROR_TRUNCATE);
    EXPECT_PST_KIND(lane.free_queue(), PST_ERROR_TRUNCATE);
  }
  meet();
}

// What was enqueued and triggered behind a failure ends, too: nobody waits for ever.
TEST(EnqueuedRequests, Q13_RequestsBehindAFailureCompleteWithIt) {
  const int peer = partner();
  const ErrorsReturn errors;
  {
    EnqueueLane lane;
    const Bytes out = message(100, rank(), 1);
    Bytes in(60), never(10), open(10);
    MPI_Request truncated, behind, untriggered, sent;
    // Sent before its receive: Open MPI 4.1 tells no truncation of a message to the own process
    // whose receive was there before.
    MPI_Isend(out.data(), 100, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &sent);
    // The stream stands until all is enqueued: a queue that has failed takes nothing more.
    std::atomic<bool> gate{false};
    lane.launch([](void* flag) { static_cast<std::atomic<bool>*>(flag)->wait(false); }, &gate);
    lane.receive(in, peer, 1, &truncated);
    lane.trigger();
    lane.receive(never, peer, 2, &behind);
    lane.wait();
    lane.trigger();
    lane.receive(open, peer, 3, &untriggered);
    gate = true;
    gate.notify_all();
    EXPECT_EQ(MPI_Wait(&sent, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_PST_KIND(MPI_Wait(&truncated, MPI_STATUS_IGNORE), PST_ERROR_TRUNCATE);
    EXPECT_PST_KIND(MPI_Wait(&behind, MPI_STATUS_IGNORE), PST_ERROR_TRUNCATE);
    EXPECT_PST_KIND(PST_Enqueue_trigger(lane.queue()), PST_ERROR_TRUNCATE);
    EXPECT_PST_KIND(MPI_Wait(&untriggered, MPI_STATUS_IGNORE), PST_ERROR_TRUNCATE);
    EXPECT_PST_KIND(PST_Queue_wait(lane.queue()), PST_ERROR_TRUNCATE);
  }
  meet();
}

// Two receives are with MPI when the first one fails: the other is taken back, whether or not the
// stream waits, and a message that comes later finds the receive that is there then.
TEST(EnqueuedRequests, Q13_AFailureTakesBackWhatMpiHas) {
  const int peer = partner();
  const ErrorsReturn errors;
  for (const bool stream_waits : {true, false}) {
    if (peer == rank()) {
      for (int i = 0; i < 3; ++i) meet();
      continue;
    }
    EnqueueLane lane;
    Bytes in(60), never(10), open(10);
    const Bytes long_one = message(100, rank(), 1), late = message(10, rank(), 2);
    MPI_Request truncated, behind, untriggered;
    lane.receive(in, peer, 1, &truncated);
    lane.receive(never, peer, 2, &behind);
    lane.trigger();
    if (stream_waits) lane.wait();
    lane.receive(open, peer, 3, &untriggered);
    meet();
    MPI_Request sent;
    MPI_Isend(long_one.data(), 100, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &sent);
    EXPECT_PST_KIND(MPI_Wait(&truncated, MPI_STATUS_IGNORE), PST_ERROR_TRUNCATE);
    EXPECT_PST_KIND(MPI_Wait(&behind, MPI_STATUS_IGNORE), PST_ERROR_TRUNCATE);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    if (stream_waits) lane.run_dry();
    EXPECT_PST_KIND(PST_Queue_wait(lane.queue()), PST_ERROR_TRUNCATE);
    // A call on the queue ends what nothing triggers any more.
    EXPECT_PST_KIND(
        PST_Enqueue_send(nullptr, 0, MPI_BYTE, peer, 4, MPI_COMM_NULL, lane.queue(), nullptr),
        PST_ERROR_TRUNCATE);
    EXPECT_PST_KIND(MPI_Wait(&untriggered, MPI_STATUS_IGNORE), PST_ERROR_TRUNCATE);
    meet();
    MPI_Isend(late.data(), 10, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &sent);
    Bytes plain(10);
    MPI_Recv(plain.data(), 10, MPI_BYTE, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    expect_message(plain, peer, 2);
    EXPECT_EQ(check_value(never.data(), never.size(), std::byte{0}), "");
    meet();
  }
}

// As soon as it can be freed MPI has the messages on it.
TEST(EnqueuedRequests, Q11_ACommunicatorThatCanBeFreedHasHandedItsMessagesOver) {
  const ErrorsReturn errors;
  for (int round = 0; round < 20; ++round) {  // each refusal is a line of the log
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    EnqueueLane lane(comm);
    const int out = round;
    int in = -1;
    EXPECT_PST(PST_Enqueue_recv(&in, 1, MPI_INT, 0, 1, MPI_COMM_NULL, lane.queue(), nullptr));
    EXPECT_PST(PST_Enqueue_send(&out, 1, MPI_INT, 0, 1, MPI_COMM_NULL, lane.queue(), nullptr));
    lane.trigger();
    lane.wait();
    PST_Error kind = PST_ERROR_NONE;
    while (comm != MPI_COMM_NULL) {
      const int code = MPI_Comm_free(&comm);
      EXPECT_PST(PST_Error_kind(code, &kind));
      ASSERT_TRUE(kind == PST_ERROR_NONE || kind == PST_ERROR_IN_USE) << describe(code);
      std::this_thread::yield();
    }
    lane.finish();
    EXPECT_EQ(in, round);
  }
}

TEST(EnqueuedRequests, Q11_ANullBufferIsRefusedUnlessNothingLiesThere) {
  const ErrorsReturn errors;
  EnqueueLane lane;
  EXPECT_PST_KIND(PST_Enqueue_send(nullptr, 1, MPI_INT, 0, 1, MPI_COMM_NULL, lane.queue(), nullptr),
                  PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(PST_Enqueue_recv(nullptr, 1, MPI_INT, 0, 1, MPI_COMM_NULL, lane.queue(), nullptr),
                  PST_ERROR_ARGUMENT);
  EXPECT_PST(
      PST_Enqueue_send(nullptr, 0, MPI_INT, partner(), 1, MPI_COMM_NULL, lane.queue(), nullptr));
  EXPECT_PST(
      PST_Enqueue_recv(nullptr, 0, MPI_INT, partner(), 1, MPI_COMM_NULL, lane.queue(), nullptr));
  lane.trigger();
  lane.finish();
}

// In C++: whatever send_init takes, and a datatype.
TEST(EnqueuedRequests, Cpp_RangesAndDatatypesAreSentAndReceived) {
  const int peer = partner();
  penstock::Stream stream;
  Queue queue(stream, MPI_COMM_WORLD);
  const std::vector<double> out{1.0 + rank(), 2, 3};
  std::vector<double> in(3);
  int array[2] = {rank(), 7}, into[2] = {-1, -1};
  Buffer<int> buffer(4), received(4);
  for (int i = 0; i < 4; ++i) buffer[static_cast<std::size_t>(i)] = 10 * rank() + i;
  MPI_Request request = MPI_REQUEST_NULL;
  queue.send(out, peer, 1);
  queue.receive(in, peer, 1, MPI_COMM_NULL, &request);
  queue.send(array, peer, 2);
  queue.receive(into, peer, 2);
  queue.send(buffer, peer, 3);
  queue.receive(received, peer, 3);
  const Datatype every_other = Datatype::vector(2, 1, 2, MPI_DOUBLE);
  std::vector<double> gaps{0, 0, 0};
  queue.send(out.data(), 1, every_other, peer, 4);
  queue.receive(gaps.data(), 1, every_other, peer, 4);
  queue.trigger();
  queue.wait_outstanding();
  queue.synchronize();
  EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(in, (std::vector<double>{1.0 + peer, 2, 3}));
  EXPECT_EQ(into[0], peer);
  EXPECT_EQ(received[3], 10 * peer + 3);
  EXPECT_EQ(gaps, (std::vector<double>{1.0 + peer, 0, 3}));
}

}  // namespace
}  // namespace penstock::test
