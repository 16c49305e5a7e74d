// SPDX-License-Identifier: Apache-2.0
// G7: misuse is an error at the call, with nothing enqueued, and the queue stays usable.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "support/endpoint.hpp"
#include "support/environment.hpp"

namespace penstock::test {
namespace {

// A matched message from this rank to itself, on a lane of its own.
class Misuse : public ::testing::Test {
 protected:
  void SetUp() override {
    sender.init(Kind::standard, rank(), 5);
    receiver.init(rank(), 5);
    std::array<MPI_Request, 2> both{sender.request(), receiver.request()};
    ASSERT_PST(PST_Matchall(2, both.data(), MPI_STATUSES_IGNORE));
  }

  // Completes an epoch whose receive has been started.
  void complete_epoch() {
    sender.enqueue_start(lane);
    receiver.enqueue_wait(lane);
    sender.enqueue_wait(lane);
    ++epochs;
  }

  // What shows that nothing of a refused call was enqueued: the next messages come through as if it
  // had not been made.
  void TearDown() override {
    for (int epoch = 0; epoch < 3; ++epoch) {
      receiver.enqueue_start(lane);
      complete_epoch();
    }
    lane.finish();
    receiver.expect_good(epochs);
  }

  Lane lane;
  Sender sender{100, Memory::allocated, 1};
  Receiver receiver{100, Memory::allocated, 1};
  std::uint64_t epochs = 0;
};

TEST_F(Misuse, G7_StartTwiceWithoutAWait) {
  receiver.enqueue_start(lane);
  EXPECT_PST_KIND(PST_Enqueue_start(lane.queue(), &receiver.request()), PST_ERROR_ALREADY_STARTED);
  complete_epoch();
}

TEST_F(Misuse, G7_WaitWithoutAStart) {
  EXPECT_PST_KIND(PST_Enqueue_wait(lane.queue(), &receiver.request()), PST_ERROR_NOT_STARTED);
}

TEST_F(Misuse, G7_WaitOnAnotherQueue) {
  Lane other;
  receiver.enqueue_start(lane);
  EXPECT_PST_KIND(PST_Enqueue_wait(other.queue(), &receiver.request()), PST_ERROR_WRONG_QUEUE);
  complete_epoch();
}

TEST_F(Misuse, G7_AnUnmatchedRequest) {
  MPI_Request unmatched = MPI_REQUEST_NULL;
  int value = 0;
  MPI_Recv_init(&value, 1, MPI_INT, rank(), 77, MPI_COMM_WORLD, &unmatched);
  EXPECT_PST_KIND(PST_Enqueue_start(lane.queue(), &unmatched), PST_ERROR_NOT_MATCHED);
  int flag = 1;
  EXPECT_PST(PST_Is_matched(unmatched, &flag));
  EXPECT_EQ(flag, 0);
  char name[16];
  EXPECT_PST_KIND(PST_Request_transport(unmatched, name, sizeof name), PST_ERROR_NOT_MATCHED);
  MPI_Status status;
  EXPECT_PST_KIND(PST_Match_status(unmatched, &status), PST_ERROR_NOT_MATCHED);
  // All or nothing: the good one before it is not started either.
  std::array<MPI_Request, 2> mixed{receiver.request(), unmatched};
  EXPECT_PST_KIND(PST_Enqueue_startall(lane.queue(), 2, mixed.data()), PST_ERROR_NOT_MATCHED);
  MPI_Request_free(&unmatched);
}

TEST_F(Misuse, G7_ARequestTwiceInOneArray) {
  std::array<MPI_Request, 2> twice{receiver.request(), receiver.request()};
  EXPECT_PST_KIND(PST_Enqueue_startall(lane.queue(), 2, twice.data()), PST_ERROR_ALREADY_STARTED);
}

TEST_F(Misuse, G7_NullFreedAndForeignRequests) {
  MPI_Request null = MPI_REQUEST_NULL;
  EXPECT_PST_KIND(PST_Enqueue_start(lane.queue(), &null), PST_ERROR_REQUEST);
  EXPECT_PST_KIND(PST_Enqueue_start(lane.queue(), nullptr), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(PST_Match(nullptr, MPI_STATUS_IGNORE), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(PST_Match(&null, MPI_STATUS_IGNORE), PST_ERROR_REQUEST);

  int value = 0;
  MPI_Request active = MPI_REQUEST_NULL;
  MPI_Irecv(&value, 1, MPI_INT, rank(), 78, MPI_COMM_WORLD, &active);
  EXPECT_PST_KIND(PST_Match(&active, MPI_STATUS_IGNORE), PST_ERROR_REQUEST);
  EXPECT_PST_KIND(PST_Enqueue_start(lane.queue(), &active), PST_ERROR_REQUEST);
  const int sent = 1;
  MPI_Send(&sent, 1, MPI_INT, rank(), 78, MPI_COMM_WORLD);
  MPI_Wait(&active, MPI_STATUS_IGNORE);

  MPI_Request freed = MPI_REQUEST_NULL;
  MPI_Recv_init(&value, 1, MPI_INT, rank(), 79, MPI_COMM_WORLD, &freed);
  MPI_Request copy = freed;
  MPI_Request_free(&freed);
  EXPECT_PST_KIND(PST_Enqueue_start(lane.queue(), &copy), PST_ERROR_REQUEST);
}

TEST_F(Misuse, G7_CountsOfRequests) {
  EXPECT_PST_KIND(PST_Enqueue_startall(lane.queue(), -1, nullptr), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(PST_Enqueue_waitall(lane.queue(), -1, nullptr), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(PST_Matchall(-1, nullptr, MPI_STATUSES_IGNORE), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(PST_Enqueue_startall(lane.queue(), 2, nullptr), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(PST_Enqueue_runall(lane.queue(), -1, nullptr), PST_ERROR_ARGUMENT);
  EXPECT_PST(PST_Enqueue_runall(lane.queue(), 0, nullptr));
  EXPECT_PST(PST_Enqueue_startall(lane.queue(), 0, nullptr));
  EXPECT_PST(PST_Enqueue_waitall(lane.queue(), 0, nullptr));
  EXPECT_PST(PST_Matchall(0, nullptr, MPI_STATUSES_IGNORE));
}

TEST_F(Misuse, G7_RunEnqueuesAllOrNothing) {
  std::array<MPI_Request, 3> twice{sender.request(), receiver.request(), sender.request()};
  EXPECT_PST_KIND(PST_Enqueue_runall(lane.queue(), 3, twice.data()), PST_ERROR_ALREADY_STARTED);
  std::array<MPI_Request, 3> null{sender.request(), receiver.request(), MPI_REQUEST_NULL};
  EXPECT_PST_KIND(PST_Enqueue_runall(lane.queue(), 3, null.data()), PST_ERROR_REQUEST);
  receiver.enqueue_start(lane);
  EXPECT_PST_KIND(PST_Enqueue_run(lane.queue(), &receiver.request()), PST_ERROR_ALREADY_STARTED);
  EXPECT_PST_KIND(PST_Enqueue_run(PST_QUEUE_NULL, &sender.request()), PST_ERROR_QUEUE);
  EXPECT_PST_KIND(PST_Enqueue_run(lane.queue(), nullptr), PST_ERROR_ARGUMENT);
  complete_epoch();
}

TEST_F(Misuse, G7_FreeingAStartedRequest) {
  receiver.enqueue_start(lane);
  MPI_Request copy = receiver.request();
  EXPECT_PST_KIND(MPI_Request_free(&copy), PST_ERROR_IN_USE);
  complete_epoch();
}

TEST_F(Misuse, G7_WaitAfterQueueWaitHasCompletedIt) {
  receiver.enqueue_start(lane);
  sender.enqueue_start(lane);
  EXPECT_PST(PST_Queue_wait(lane.queue()));
  EXPECT_PST_KIND(PST_Enqueue_wait(lane.queue(), &sender.request()), PST_ERROR_NOT_STARTED);
  lane.launch(Receiver::check, &receiver);
  ++epochs;
}

// MPI takes the request for an inactive one, which is complete.
TEST_F(Misuse, G7_MpiWaitsForARequestThatAQueueHasStarted) {
  receiver.enqueue_start(lane);
  std::array<MPI_Request, 2> both{sender.request(), receiver.request()};
  MPI_Request* const started = &both[1];
  std::array<MPI_Status, 2> statuses;
  std::array<int, 2> indices;
  int flag = 0;
  int index = 0;
  EXPECT_PST_KIND(MPI_Wait(started, MPI_STATUS_IGNORE), PST_ERROR_IN_USE);
  EXPECT_NE(last_error().find("PST_Queue_wait"), std::string::npos) << last_error();
  EXPECT_PST_KIND(MPI_Waitall(2, both.data(), MPI_STATUSES_IGNORE), PST_ERROR_IN_USE);
  EXPECT_PST_KIND(MPI_Waitany(2, both.data(), &index, MPI_STATUS_IGNORE), PST_ERROR_IN_USE);
  EXPECT_PST_KIND(MPI_Waitsome(2, both.data(), &index, indices.data(), statuses.data()),
                  PST_ERROR_IN_USE);
  EXPECT_PST_KIND(MPI_Test(started, &flag, MPI_STATUS_IGNORE), PST_ERROR_IN_USE);
  EXPECT_PST_KIND(MPI_Testall(2, both.data(), &flag, MPI_STATUSES_IGNORE), PST_ERROR_IN_USE);
  EXPECT_PST_KIND(MPI_Testany(2, both.data(), &index, &flag, MPI_STATUS_IGNORE), PST_ERROR_IN_USE);
  EXPECT_PST_KIND(MPI_Testsome(2, both.data(), &index, indices.data(), statuses.data()),
                  PST_ERROR_IN_USE);
  EXPECT_PST_KIND(MPI_Request_get_status(*started, &flag, MPI_STATUS_IGNORE), PST_ERROR_IN_USE);
  EXPECT_PST_KIND(MPI_Cancel(started), PST_ERROR_IN_USE);
  EXPECT_EQ(*started, receiver.request());
  complete_epoch();
  // With its wait enqueued it is MPI's again, inactive.
  EXPECT_PST(MPI_Waitall(2, both.data(), MPI_STATUSES_IGNORE));
}

// MPI would move its own message from or into the buffer that the queue uses.
TEST_F(Misuse, G7_MpiStartsARequestThatAQueueHasStarted) {
  receiver.enqueue_start(lane);
  std::array<MPI_Request, 2> both{sender.request(), receiver.request()};
  EXPECT_PST_KIND(MPI_Start(&both[1]), PST_ERROR_IN_USE);
  EXPECT_NE(last_error().find("MPI_Start"), std::string::npos) << last_error();
  EXPECT_NE(last_error().find("receive from rank " + std::to_string(rank())), std::string::npos)
      << last_error();
  EXPECT_PST_KIND(MPI_Startall(2, both.data()), PST_ERROR_IN_USE);
  complete_epoch();
  // With their waits enqueued they are MPI's again, once the stream is done with their buffers.
  lane.synchronize();
  EXPECT_PST(MPI_Startall(2, both.data()));
  EXPECT_PST(MPI_Waitall(2, both.data(), MPI_STATUSES_IGNORE));
}

// As MPI says: what is active is started again when a call has completed it.
TEST_F(Misuse, G7_AQueueStartsARequestThatMpiHasActive) {
  std::array<MPI_Request, 2> both{sender.request(), receiver.request()};
  const auto expect_refused = [&](MPI_Request& active) {
    EXPECT_PST_KIND(PST_Enqueue_start(lane.queue(), &active), PST_ERROR_ALREADY_STARTED);
    EXPECT_NE(last_error().find("started by MPI_Start"), std::string::npos) << last_error();
    EXPECT_PST_KIND(PST_Enqueue_runall(lane.queue(), 2, both.data()), PST_ERROR_ALREADY_STARTED);
  };
  EXPECT_PST(MPI_Start(&both[1]));
  expect_refused(both[1]);
  int flag = 1;
  EXPECT_PST(MPI_Test(&both[1], &flag, MPI_STATUS_IGNORE));
  EXPECT_EQ(flag, 0);
  expect_refused(both[1]);
  EXPECT_PST(MPI_Start(&both[0]));
  EXPECT_PST(MPI_Waitall(2, both.data(), MPI_STATUSES_IGNORE));
  receiver.enqueue_start(lane);
  complete_epoch();
  lane.synchronize();
  EXPECT_PST(MPI_Startall(2, both.data()));
  expect_refused(both[0]);
  // What has come is active until the program has been told of it.
  int first = -1;
  EXPECT_PST(MPI_Waitany(2, both.data(), &first, MPI_STATUS_IGNORE));
  ASSERT_TRUE(first == 0 || first == 1);
  expect_refused(both[1 - first]);
  int index = -1;
  EXPECT_PST(MPI_Waitany(2, both.data(), &index, MPI_STATUS_IGNORE));
  EXPECT_EQ(index, 1 - first);
  receiver.enqueue_start(lane);
  complete_epoch();
}

TEST_F(Misuse, G7_MatchingTwice) {
  EXPECT_PST_KIND(PST_Match(&receiver.request(), MPI_STATUS_IGNORE), PST_ERROR_ALREADY_MATCHED);
  MPI_Request fresh = MPI_REQUEST_NULL;
  int value = 0;
  MPI_Recv_init(&value, 1, MPI_INT, rank(), 80, MPI_COMM_WORLD, &fresh);
  std::array<MPI_Request, 2> twice{fresh, fresh};
  EXPECT_PST_KIND(PST_Matchall(2, twice.data(), MPI_STATUSES_IGNORE), PST_ERROR_ALREADY_MATCHED);
  MPI_Request_free(&fresh);
}

TEST_F(Misuse, NullAndFreedHandlesOfQueuesAndStreams) {
  EXPECT_PST_KIND(PST_Enqueue_start(PST_QUEUE_NULL, &receiver.request()), PST_ERROR_QUEUE);
  EXPECT_PST_KIND(PST_Queue_wait(PST_QUEUE_NULL), PST_ERROR_QUEUE);
  EXPECT_PST_KIND(PST_Stream_synchronize(PST_STREAM_NULL), PST_ERROR_STREAM);
  EXPECT_PST_KIND(PST_Stream_create(nullptr), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(PST_Stream_launch(lane.stream(), nullptr, nullptr), PST_ERROR_ARGUMENT);

  PST_Stream stream = PST_STREAM_NULL;
  ASSERT_PST(PST_Stream_create(&stream));
  PST_Queue queue = PST_QUEUE_NULL;
  EXPECT_PST_KIND(PST_Queue_init(nullptr, PST_QUEUE_HOST, &stream), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(PST_Queue_init(&queue, PST_QUEUE_HOST, nullptr), PST_ERROR_ARGUMENT);
  // Not its address.
  EXPECT_PST_KIND(PST_Queue_init(&queue, PST_QUEUE_HOST, stream), PST_ERROR_STREAM);
  EXPECT_PST_KIND(PST_Queue_init(&queue, static_cast<PST_Queue_type>(17), &stream),
                  PST_ERROR_ARGUMENT);
  // Without such a GPU, and in a library without its vendor; with one this is its default stream.
  for (const PST_Queue_type type : {PST_QUEUE_CUDA, PST_QUEUE_HIP}) {
    void* default_stream = nullptr;
    if (const int code = PST_Queue_init(&queue, type, &default_stream); code == MPI_SUCCESS) {
      EXPECT_PST(PST_Queue_free(&queue));
    } else {
      EXPECT_PST_KIND(code, PST_ERROR_UNSUPPORTED);
    }
  }
  EXPECT_EQ(queue, PST_QUEUE_NULL);

  ASSERT_PST(PST_Queue_init(&queue, PST_QUEUE_HOST, &stream));
  EXPECT_PST_KIND(PST_Stream_free(&stream), PST_ERROR_IN_USE);
  const PST_Queue stale_queue = queue;
  const PST_Stream stale_stream = stream;
  EXPECT_PST(PST_Queue_free(&queue));
  EXPECT_EQ(queue, PST_QUEUE_NULL);
  EXPECT_PST(PST_Stream_free(&stream));
  EXPECT_EQ(stream, PST_STREAM_NULL);
  EXPECT_PST_KIND(PST_Queue_wait(stale_queue), PST_ERROR_QUEUE);
  EXPECT_PST_KIND(PST_Enqueue_start(stale_queue, &receiver.request()), PST_ERROR_QUEUE);
  EXPECT_PST_KIND(PST_Stream_synchronize(stale_stream), PST_ERROR_STREAM);
  stream = stale_stream;
  EXPECT_PST_KIND(PST_Queue_init(&queue, PST_QUEUE_HOST, &stream), PST_ERROR_STREAM);
  EXPECT_PST_KIND(PST_Stream_free(&stream), PST_ERROR_STREAM);
  int flag = 0;
  EXPECT_PST_KIND(PST_Queue_test(stale_queue, &flag), PST_ERROR_QUEUE);
}

// Neither for its own stream, which would wait for itself, nor for another one, which may wait for
// its own.
TEST_F(Misuse, AFunctionOnAStreamCannotWaitForAStream) {
  struct Inside {
    PST_Queue queue;
    PST_Stream stream;
    std::array<int, 4> codes;
  };
  const auto wait = [](void* argument) {
    auto& inside = *static_cast<Inside*>(argument);
    inside.codes = {PST_Queue_wait(inside.queue), PST_Stream_synchronize(inside.stream),
                    PST_Queue_free(&inside.queue), PST_Stream_free(&inside.stream)};
  };
  Lane other;
  for (Lane* awaited : {&lane, &other}) {
    Inside inside{awaited->queue(), awaited->stream(), {}};
    lane.launch(wait, &inside);
    lane.finish();
    for (const int code : inside.codes)
      EXPECT_EQ(kind_of(code), PST_ERROR_STREAM) << describe(code);
    EXPECT_EQ(inside.queue, awaited->queue());
    EXPECT_EQ(inside.stream, awaited->stream());
  }
}

struct MatchInside {
  std::array<MPI_Request, 2> requests;
  int code;
};

TEST_F(Misuse, AFunctionOnAStreamCannotWaitForAMatch) {
  std::array<int, 2> values{};
  MatchInside inside{{MPI_REQUEST_NULL, MPI_REQUEST_NULL}, MPI_SUCCESS};
  MPI_Send_init(&values[0], 1, MPI_INT, rank(), 81, MPI_COMM_WORLD, &inside.requests[0]);
  MPI_Recv_init(&values[1], 1, MPI_INT, rank(), 81, MPI_COMM_WORLD, &inside.requests[1]);
  lane.launch(
      [](void* argument) {
        auto& match = *static_cast<MatchInside*>(argument);
        match.code = PST_Matchall(2, match.requests.data(), MPI_STATUSES_IGNORE);
      },
      &inside);
  lane.finish();
  EXPECT_EQ(kind_of(inside.code), PST_ERROR_STREAM);
  // Nothing was under way.
  EXPECT_PST(PST_Matchall(2, inside.requests.data(), MPI_STATUSES_IGNORE));
  for (MPI_Request& request : inside.requests) MPI_Request_free(&request);
}

TEST_F(Misuse, Memory) {
  void* memory = nullptr;
  EXPECT_PST_KIND(PST_Alloc_mem(-1, MPI_INFO_NULL, &memory), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(PST_Alloc_mem(8, MPI_INFO_NULL, nullptr), PST_ERROR_ARGUMENT);
  int local = 0;
  EXPECT_PST_KIND(PST_Free_mem(&local), PST_ERROR_ARGUMENT);
  EXPECT_PST(PST_Free_mem(nullptr));
  EXPECT_PST(PST_Alloc_mem(0, MPI_INFO_NULL, &memory));
  EXPECT_PST(PST_Free_mem(memory));
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  EXPECT_PST(PST_Alloc_mem(8, info, &memory));
  EXPECT_PST(PST_Free_mem(memory));
  MPI_Info_set(info, "mpi_memory_alloc_kinds", "system,mpi:alloc_mem");
  EXPECT_PST(PST_Alloc_mem(8, info, &memory));
  EXPECT_PST(PST_Free_mem(memory));
  EXPECT_PST_KIND(PST_Free_mem(memory), PST_ERROR_ARGUMENT);
  MPI_Info_set(info, "mpi_memory_alloc_kinds", "cuda:device");
  EXPECT_PST_KIND(PST_Alloc_mem(8, info, &memory), PST_ERROR_UNSUPPORTED);
  MPI_Info_free(&info);
}

TEST(Errors, KindsTextsAndCodes) {
  PST_Error kind = PST_ERROR_INTERNAL;
  EXPECT_PST(PST_Error_kind(MPI_SUCCESS, &kind));
  EXPECT_EQ(kind, PST_ERROR_NONE);
  EXPECT_PST(PST_Error_kind(MPI_ERR_TRUNCATE, &kind));
  EXPECT_EQ(kind, PST_ERROR_TRUNCATE);
  EXPECT_PST(PST_Error_kind(MPI_ERR_COMM, &kind));
  EXPECT_EQ(kind, PST_ERROR_MPI);
  EXPECT_PST_KIND(PST_Error_kind(0, nullptr), PST_ERROR_ARGUMENT);

  const int code = PST_Queue_wait(PST_QUEUE_NULL);
  EXPECT_EQ(last_error(),
            "the queue is PST_QUEUE_NULL: make one with PST_Queue_init or PST_Queue_create");
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  EXPECT_EQ(MPI_Error_string(code, text, &length), MPI_SUCCESS);
  EXPECT_NE(std::string(text).find("PST_Queue_init"), std::string::npos) << text;
  EXPECT_LT(length, 256);
  char tiny[4];
  EXPECT_PST(PST_Last_error(tiny, sizeof tiny));
  EXPECT_STREQ(tiny, "the");
  EXPECT_PST_KIND(PST_Last_error(nullptr, 4), PST_ERROR_ARGUMENT);
}

int handler_calls = 0;
int handler_code = MPI_SUCCESS;

void counting_handler(MPI_Comm*, int* code, ...) {
  ++handler_calls;
  handler_code = *code;
}

// Errors of a request go to its communicator's handler, those of queues and streams to
// MPI_COMM_WORLD's, which returns.
TEST(Errors, TheCommunicatorsHandlerIsCalled) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(counting_handler, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  int value = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Recv_init(&value, 1, MPI_INT, MPI_PROC_NULL, 1, comm, &request);
  Lane lane;
  Lane other;
  int expected_calls = handler_calls;
  const auto expect_handled = [&](int code, PST_Error kind) {
    EXPECT_EQ(handler_calls, ++expected_calls);
    EXPECT_EQ(handler_code, code);
    EXPECT_EQ(kind_of(code), kind);
  };
  MPI_Status status;
  expect_handled(PST_Enqueue_start(lane.queue(), &request), PST_ERROR_NOT_MATCHED);
  expect_handled(PST_Enqueue_wait(lane.queue(), &request), PST_ERROR_NOT_MATCHED);
  expect_handled(PST_Match_status(request, &status), PST_ERROR_NOT_MATCHED);
  ASSERT_PST(PST_Match(&request, MPI_STATUS_IGNORE));
  expect_handled(PST_Match(&request, MPI_STATUS_IGNORE), PST_ERROR_ALREADY_MATCHED);
  expect_handled(PST_Enqueue_wait(lane.queue(), &request), PST_ERROR_NOT_STARTED);
  ASSERT_PST(PST_Enqueue_start(lane.queue(), &request));
  expect_handled(PST_Enqueue_start(lane.queue(), &request), PST_ERROR_ALREADY_STARTED);
  expect_handled(PST_Enqueue_wait(other.queue(), &request), PST_ERROR_WRONG_QUEUE);
  MPI_Request copy = request;
  expect_handled(PST_Request_free(&copy), PST_ERROR_IN_USE);
  ASSERT_PST(PST_Enqueue_wait(lane.queue(), &request));
  EXPECT_PST_KIND(PST_Enqueue_start(PST_QUEUE_NULL, &request), PST_ERROR_QUEUE);
  EXPECT_EQ(handler_calls, expected_calls);
  lane.finish();
  MPI_Request_free(&request);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
}

TEST(Errors, ANullStatusIsRefusedWhereItDoesNotMeanIgnore) {
  MPI_Status* const null = nullptr;
  if (null == MPI_STATUS_IGNORE) GTEST_SKIP() << "a null pointer is this MPI's MPI_STATUS_IGNORE";
  int value = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Recv_init(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request);
  EXPECT_PST_KIND(PST_Match(&request, null), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(PST_Matchall(1, &request, null), PST_ERROR_ARGUMENT);
  ASSERT_PST(PST_Match(&request, MPI_STATUS_IGNORE));  // nothing had been matched
  EXPECT_PST_KIND(PST_Match_status(request, null), PST_ERROR_ARGUMENT);
  MPI_Request_free(&request);
}

TEST(Errors, TheTextOfAnErrorOfMpiIsItsOwn) {
  EXPECT_PST_KIND(PST_Enqueue_start(PST_QUEUE_NULL, nullptr), PST_ERROR_QUEUE);
  const std::string before = last_error();
  int value = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = PST_Send_init(&value, 1, MPI_INT, size() + 5, 0, MPI_COMM_WORLD, &request);
  EXPECT_EQ(kind_of(code), PST_ERROR_MPI);
  EXPECT_NE(last_error(), before);
  EXPECT_FALSE(last_error().empty());
}

TEST(Library, InitTwiceVersionAndDescription) {
  EXPECT_PST(PST_Init());
  int major = -1;
  int minor = -1;
  int patch = -1;
  EXPECT_PST(PST_Get_version(&major, &minor, &patch));
  EXPECT_EQ(major * 10000 + minor * 100 + patch, PST_VERSION);
  EXPECT_PST_KIND(PST_Get_version(&major, nullptr, &patch), PST_ERROR_ARGUMENT);
  int length = 0;
  EXPECT_PST(PST_Describe(nullptr, 0, &length));
  ASSERT_GT(length, 0);
  std::string json(static_cast<std::size_t>(length) + 1, 'x');
  EXPECT_PST(PST_Describe(json.data(), length + 1, &length));
  EXPECT_EQ(json.find('\0'), static_cast<std::size_t>(length));
  EXPECT_NE(json.find("\"peer\""), std::string::npos);
}

TEST(Library, TheEnvironmentIsDescribedAndWrongUseRefused) {
  int length = 0;
  EXPECT_PST_KIND(PST_Describe_environment(nullptr, 0, nullptr), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(PST_Describe_environment(nullptr, -1, &length), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(PST_Describe_environment(nullptr, 1, &length), PST_ERROR_ARGUMENT);
  EXPECT_PST(PST_Describe_environment(nullptr, 0, &length));
  ASSERT_GT(length, 0);
  std::string json(static_cast<std::size_t>(length) + 1, 'x');
  EXPECT_PST(PST_Describe_environment(json.data(), length + 1, &length));
  EXPECT_EQ(json.find('\0'), static_cast<std::size_t>(length));
  EXPECT_NE(json.find("\"ready\": true"), std::string::npos) << json;
  EXPECT_NE(json.find("\"mpi_fits\": true"), std::string::npos) << json;
}

}  // namespace
}  // namespace penstock::test
