// SPDX-License-Identifier: Apache-2.0
// Calls that MPI refuses, and broken promises, with PENSTOCK_OVERLAP=exact: errors, and no hang.
#include "conformance/overlap.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace penstock::test {
namespace {

// ---- Wrong arguments. Before the broken promises: MPICH gives a later error of its own the code
// of an earlier request's, where both have had the same place in its ring of 128 errors.

int last_tag() {
  int* last = nullptr;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &last, &found);
  return *last;
}

int class_of(int code) {
  int result = MPI_SUCCESS;
  MPI_Error_class(code, &result);
  return result;
}

struct WrongCall {
  const void* buffer;
  int count;
  MPI_Datatype datatype;
  int peer, tag;
  int error;  // its class
};

TEST(Overlap, WrongArgumentsAreMpisErrors) {
  Bytes bytes(large);
  MPI_Datatype uncommitted;
  MPI_Type_contiguous(count_of(large), MPI_BYTE, &uncommitted);
  MPI_Request request = MPI_REQUEST_NULL;
  const int length = count_of(large);
  std::vector<WrongCall> both{{bytes.data(), length, MPI_BYTE, size(), 0, MPI_ERR_RANK},
                              {bytes.data(), length, MPI_BYTE, -7, 0, MPI_ERR_RANK},
                              {bytes.data(), length, MPI_BYTE, 0, -5, MPI_ERR_TAG},
                              {bytes.data(), -length, MPI_BYTE, 0, 0, MPI_ERR_COUNT},
                              {bytes.data(), 1, uncommitted, 0, 0, MPI_ERR_TYPE},
                              {bytes.data(), length, MPI_DATATYPE_NULL, 0, 0, MPI_ERR_TYPE},
                              {nullptr, length, MPI_BYTE, 0, 0, MPI_ERR_BUFFER}};
  if (last_tag() < std::numeric_limits<int>::max())
    both.push_back({bytes.data(), length, MPI_BYTE, 0, last_tag() + 1, MPI_ERR_TAG});
  std::vector<WrongCall> sends = both;
  sends.push_back({bytes.data(), length, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_ERR_RANK});
  sends.push_back({bytes.data(), length, MPI_BYTE, 0, MPI_ANY_TAG, MPI_ERR_TAG});
  const long before = sent_by_library();
  for (const WrongCall& each : sends) {
    const auto expect_error = [&](int code) {
      EXPECT_EQ(class_of(code), each.error) << describe(code) << ", case " << &each - sends.data();
    };
    for (const auto call : {MPI_Isend, MPI_Issend, MPI_Irsend, MPI_Ibsend})
      expect_error(call(each.buffer, each.count, each.datatype, each.peer, each.tag, MPI_COMM_WORLD,
                        &request));
    for (const auto call : {MPI_Send, MPI_Ssend, MPI_Rsend, MPI_Bsend})
      expect_error(
          call(each.buffer, each.count, each.datatype, each.peer, each.tag, MPI_COMM_WORLD));
  }
  for (const WrongCall& each : both) {
    void* const buffer = const_cast<void*>(each.buffer);
    EXPECT_EQ(class_of(MPI_Irecv(buffer, each.count, each.datatype, each.peer, each.tag,
                                 MPI_COMM_WORLD, &request)),
              each.error);
    EXPECT_EQ(class_of(MPI_Recv(buffer, each.count, each.datatype, each.peer, each.tag,
                                MPI_COMM_WORLD, MPI_STATUS_IGNORE)),
              each.error);
  }
  EXPECT_EQ(sent_by_library(), before);
  MPI_Type_free(&uncommitted);
}

// The message stays for a call that can receive it, and its sender waits for that one.
TEST(Overlap, AWrongReceiveOfAProbedMessageLeavesIt) {
  const Bytes out = content(key_of(rank(), 18, 1), 1, large);
  Bytes in(large, std::byte{0xee});
  constexpr int most = std::numeric_limits<int>::max();
  MPI_Datatype uncommitted, huge;
  MPI_Type_contiguous(count_of(large), MPI_BYTE, &uncommitted);
  MPI_Type_contiguous(most, MPI_LONG, &huge);
  MPI_Type_commit(&huge);
  const int length = count_of(large);
  for (const bool waits : {true, false}) {
    MPI_Request send, request = MPI_REQUEST_NULL;
    EXPECT_PST(MPI_Isend(out.data(), length, MPI_BYTE, next_rank(), 18, MPI_COMM_WORLD, &send));
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status{};
    EXPECT_PST(MPI_Mprobe(previous_rank(), 18, MPI_COMM_WORLD, &message, &status));
    const auto receive = [&](void* buffer, int count, MPI_Datatype datatype) {
      return waits ? MPI_Mrecv(buffer, count, datatype, &message, &status)
                   : MPI_Imrecv(buffer, count, datatype, &message, &request);
    };
    EXPECT_EQ(class_of(receive(in.data(), 1, uncommitted)), MPI_ERR_TYPE);
    EXPECT_EQ(class_of(receive(in.data(), length, MPI_DATATYPE_NULL)), MPI_ERR_TYPE);
    EXPECT_EQ(class_of(receive(in.data(), -1, MPI_BYTE)), MPI_ERR_COUNT);
    EXPECT_EQ(class_of(receive(nullptr, length, MPI_BYTE)), MPI_ERR_BUFFER);
    EXPECT_NE(receive(in.data(), most, huge), MPI_SUCCESS);
    EXPECT_NE(message, MPI_MESSAGE_NULL);
    EXPECT_EQ(check_value(in.data(), in.size(), std::byte{0xee}), "");
    EXPECT_PST(receive(in.data(), length, MPI_BYTE));
    EXPECT_EQ(message, MPI_MESSAGE_NULL);
    if (!waits) EXPECT_PST(MPI_Wait(&request, &status));
    expect_status(status, previous_rank(), 18, large);
    expect_content(in, key_of(previous_rank(), 18, 1), 1, "behind wrong receives");
    EXPECT_PST(MPI_Wait(&send, MPI_STATUS_IGNORE));
    std::ranges::fill(in, std::byte{0xee});
  }
  MPI_Type_free(&uncommitted);
  MPI_Type_free(&huge);
}

// It would go by MPI, where a plain other end does not look for it.
TEST(Overlap, AnEnqueuedMessageOfThatSizeIsRefused) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level != MPI_THREAD_MULTIPLE) GTEST_SKIP() << "needs MPI_THREAD_MULTIPLE";
  Lane lane;
  Bytes bytes(large), out = content(key_of(rank(), 40, 1), 1, 10), in(10, std::byte{0xee});
  EXPECT_PST_KIND(PST_Enqueue_send(bytes.data(), count_of(large), MPI_BYTE, next_rank(), 40,
                                   MPI_COMM_WORLD, lane.queue(), nullptr),
                  PST_ERROR_UNSUPPORTED);
  EXPECT_NE(last_error().find("PST_Comm_enqueue_only"), std::string::npos) << last_error();
  EXPECT_PST_KIND(PST_Enqueue_recv(bytes.data(), count_of(large), MPI_BYTE, previous_rank(), 40,
                                   MPI_COMM_WORLD, lane.queue(), nullptr),
                  PST_ERROR_UNSUPPORTED);
  MPI_Request receive;
  EXPECT_PST(MPI_Irecv(in.data(), 10, MPI_BYTE, previous_rank(), 40, MPI_COMM_WORLD, &receive));
  EXPECT_PST(PST_Enqueue_send(out.data(), 10, MPI_BYTE, next_rank(), 40, MPI_COMM_WORLD,
                              lane.queue(), nullptr));
  EXPECT_PST(PST_Enqueue_trigger(lane.queue()));
  EXPECT_PST(PST_Enqueue_wait_outstanding(lane.queue()));
  EXPECT_PST(MPI_Wait(&receive, MPI_STATUS_IGNORE));
  EXPECT_PST(PST_Queue_wait(lane.queue()));
  expect_content(in, key_of(previous_rank(), 40, 1), 1, "a small enqueued one");
}

// A half of it that has begun could not give its message back.
TEST(Overlap, AnExchangeWithAWrongHalfTakesNoMessage) {
  const Bytes out = content(key_of(rank(), 16, 1), 1, large);
  Bytes in(large, std::byte{0xee});
  MPI_Request send;
  EXPECT_PST(
      MPI_Isend(out.data(), count_of(large), MPI_BYTE, next_rank(), 16, MPI_COMM_WORLD, &send));
  int found = 0;
  while (found == 0)
    EXPECT_PST(MPI_Iprobe(previous_rank(), 16, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE));
  EXPECT_EQ(class_of(MPI_Sendrecv(out.data(), count_of(large), MPI_BYTE, size(), 17, in.data(),
                                  count_of(large), MPI_BYTE, previous_rank(), 16, MPI_COMM_WORLD,
                                  MPI_STATUS_IGNORE)),
            MPI_ERR_RANK);
  EXPECT_EQ(check_value(in.data(), in.size(), std::byte{0xee}), "");
  EXPECT_PST(MPI_Recv(in.data(), count_of(large), MPI_BYTE, previous_rank(), 16, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
  EXPECT_PST(MPI_Wait(&send, MPI_STATUS_IGNORE));
  expect_content(in, key_of(previous_rank(), 16, 1), 1, "behind a wrong exchange");
}

// ---- Promises that are broken

TEST(Overlap, AReceiveOfAnotherLengthIsAnError) {
  const Bytes out = content(1, 1, large);
  Bytes in(large + 1);
  for (const std::size_t length : {large + 1, large - 1}) {
    MPI_Request requests[2];
    MPI_Status statuses[2] = {};
    EXPECT_PST(MPI_Irecv(in.data(), count_of(length), MPI_BYTE, previous_rank(), 11, MPI_COMM_WORLD,
                         &requests[0]));
    EXPECT_PST(MPI_Isend(out.data(), count_of(large), MPI_BYTE, next_rank(), 11, MPI_COMM_WORLD,
                         &requests[1]));
    EXPECT_PST(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    EXPECT_PST_KIND(MPI_Wait(&requests[0], &statuses[0]), PST_ERROR_ASSERTION);
    EXPECT_NE(last_error().find("as long as their messages"), std::string::npos) << last_error();
  }
}

TEST(Overlap, ALargeReceiveOfASmallMessageIsAnErrorAndNoHang) {
  const Bytes out = content(1, 1, large);
  Bytes in(large);
  MPI_Request send;
  EXPECT_PST(MPI_Isend(out.data(), 100, MPI_BYTE, next_rank(), 12, MPI_COMM_WORLD, &send));
  EXPECT_PST_KIND(MPI_Recv(in.data(), count_of(large), MPI_BYTE, previous_rank(), 12,
                           MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                  PST_ERROR_ASSERTION);
  EXPECT_NE(last_error().find("MPI has a message for it of 100 bytes"), std::string::npos)
      << last_error();
  MPI_Request receive;
  EXPECT_PST(MPI_Irecv(in.data(), count_of(large), MPI_BYTE, previous_rank(), 12, MPI_COMM_WORLD,
                       &receive));
  int code = MPI_SUCCESS;
  for (int done = 0; code == MPI_SUCCESS && done == 0;)
    code = MPI_Test(&receive, &done, MPI_STATUS_IGNORE);
  EXPECT_EQ(kind_of(code), PST_ERROR_ASSERTION) << describe(code);
  EXPECT_PST(
      MPI_Recv(in.data(), 100, MPI_BYTE, previous_rank(), 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  EXPECT_PST(MPI_Wait(&send, MPI_STATUS_IGNORE));
}

// As from a language whose calls reach MPI past the library.
TEST(Overlap, ALargeMessageThatCameByMpiIsAnErrorAndNoHang) {
  const Bytes out = content(1, 1, large);
  Bytes in(large);
  MPI_Request send;
  EXPECT_PST(
      PMPI_Isend(out.data(), count_of(large), MPI_BYTE, next_rank(), 13, MPI_COMM_WORLD, &send));
  EXPECT_PST_KIND(MPI_Recv(in.data(), count_of(large), MPI_BYTE, MPI_ANY_SOURCE, 13, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE),
                  PST_ERROR_ASSERTION);
  EXPECT_PST(PMPI_Recv(in.data(), count_of(large), MPI_BYTE, previous_rank(), 13, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE));
  EXPECT_PST(MPI_Wait(&send, MPI_STATUS_IGNORE));
}

TEST(Overlap, AProbeOfBothKindsInOneStreamIsAnError) {
  const Bytes out = content(1, 1, large);
  MPI_Request sends[2];
  EXPECT_PST(
      MPI_Isend(out.data(), count_of(large), MPI_BYTE, next_rank(), 14, MPI_COMM_WORLD, &sends[0]));
  EXPECT_PST(MPI_Isend(out.data(), 10, MPI_BYTE, next_rank(), 14, MPI_COMM_WORLD, &sends[1]));
  MPI_Barrier(MPI_COMM_WORLD);
  int code = MPI_SUCCESS;
  for (int tries = 0; code == MPI_SUCCESS && tries < 1'000'000; ++tries) {
    int found = 0;
    code = MPI_Iprobe(previous_rank(), 14, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  }
  EXPECT_EQ(kind_of(code), PST_ERROR_ASSERTION) << describe(code);
  Bytes in(large);
  EXPECT_PST(
      MPI_Recv(in.data(), 10, MPI_BYTE, previous_rank(), 14, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  EXPECT_PST(MPI_Recv(in.data(), count_of(large), MPI_BYTE, previous_rank(), 14, MPI_COMM_WORLD,
                      MPI_STATUS_IGNORE));
  EXPECT_PST(MPI_Waitall(2, sends, MPI_STATUSES_IGNORE));
}

}  // namespace
}  // namespace penstock::test
