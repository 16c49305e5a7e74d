// SPDX-License-Identifier: Apache-2.0
// What goes wrong on communicators whose messages are enqueued at both ends: misuse, messages that
// are lost, members that do not come. Q11 and Q13 of docs/queue.md.
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

#include "conformance/promised_comm.hpp"

namespace penstock::test {
namespace {

// While it is true, MPI takes no send (PMPI_Isend below).
std::atomic<bool> refuses_sends{false};

// NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker)

TEST(EnqueueOnly, Q13_AMessageThatIsTooLongFailsItsReceive) {
  const PromisedComm comm;
  const int peer = partner();
  const ErrorsReturn errors;
  for (const std::size_t bytes : {std::size_t{30}, std::size_t{500}, eager_max() + 100}) {
    // Where MPI alone moves, Open MPI 4.1 tells no truncation of a message to the own process, and
    // writes beyond a receive that is too short for a large one.
    const bool by_mpi = bytes > eager_max() || !transport_allowed("peer");
    if (by_mpi && (peer == rank() || (bytes > 4096 && !transport_allowed("peer")))) continue;
    EnqueueLane sends(comm), receives(comm);
    const Bytes out = message(bytes, rank(), 1);
    Bytes in(10);
    MPI_Request request;
    const int tag = static_cast<int>(bytes);
    receives.receive(in, peer, tag, &request);
    receives.trigger();
    sends.send(out, peer, tag);
    sends.trigger();
    EXPECT_PST_KIND(MPI_Wait(&request, MPI_STATUS_IGNORE), PST_ERROR_TRUNCATE);
    EXPECT_PST_KIND(PST_Queue_wait(receives.queue()), PST_ERROR_TRUNCATE);
    sends.finish();
  }
  meet();
}

// A queue that fails takes a receive with it. Those behind it would get one another's messages:
// they fail, too, whichever queues they are of, and however early.
TEST(EnqueueOnly, Q13_WhatIsLostTakesItsTagAlong) {
  const PromisedComm comm;
  const int peer = partner();
  if (peer == rank()) {  // Open MPI 4.1 tells no truncation of a message to the own process
    for (int i = 0; i < 4; ++i) meet();
    GTEST_SKIP() << "of messages to other processes";
  }
  const ErrorsReturn errors;
  for (const bool triggered_before : {true, false}) {
    EnqueueLane failing(comm), behind(comm), sends(comm);
    const int tag = triggered_before ? 7 : 17;
    Bytes lost(8), second(8), short_one(4);
    const Bytes out = message(8, rank(), 1), long_one = message(30, rank(), 2);
    failing.receive(lost, peer, tag);
    failing.receive(short_one, peer, tag + 1);
    failing.trigger();
    const auto receive_second = [&] {
      behind.receive(second, peer, tag);
      behind.trigger();
    };
    if (triggered_before) receive_second();
    meet();
    sends.send(long_one, peer, tag + 1);
    sends.trigger();
    EXPECT_PST_KIND(PST_Queue_wait(failing.queue()), PST_ERROR_TRUNCATE);
    if (!triggered_before) receive_second();
    EXPECT_PST_KIND(PST_Queue_wait(behind.queue()), PST_ERROR_TRANSPORT);
    EXPECT_NE(last_error().find("both ends count"), std::string::npos) << last_error();
    sends.finish();
    EXPECT_EQ(check_value(second.data(), second.size(), std::byte{0}), "");
    meet();
  }
}

// A send, on a queue of its own, that MPI refuses; and a later one with its tag.
void send_refused(const PromisedComm& comm, const Bytes& out, int tag) {
  EnqueueLane refused(comm), later(comm);
  refuses_sends = true;
  refused.send(out, partner(), tag);
  refused.trigger();
  EXPECT_PST_KIND(PST_Queue_wait(refused.queue()), PST_ERROR_MPI);
  refuses_sends = false;
  const Bytes second = message(8, rank(), 2);
  later.send(second, partner(), tag);
  later.trigger();
  EXPECT_PST_KIND(PST_Queue_wait(later.queue()), PST_ERROR_TRANSPORT);
}

// What is large goes by MPI, too; its receive makes slots for what follows.
void exchange(const PromisedComm& comm, std::size_t bytes, int tag) {
  EnqueueLane lane(comm);
  const Bytes out = message(bytes, rank(), bytes);
  Bytes in(bytes);
  lane.receive(in, partner(), tag);
  lane.send(out, partner(), tag);
  lane.trigger();
  lane.finish();
  expect_message(in, partner(), bytes);
}

// Its slot has told the receiver to expect it from MPI.
TEST(EnqueueOnly, Q13_ASendThatMpiRefusesFailsItsReceive) {
  if (!transport_allowed("peer")) GTEST_SKIP() << "over MPI alone no slot tells: see the next test";
  const PromisedComm comm;
  const int peer = partner();
  const ErrorsReturn errors;
  const Bytes out = message(eager_max() + 1, rank(), 1);
  for (const bool receives_first : {true, false}) {
    const int tag = receives_first ? 21 : 22;
    EnqueueLane receives(comm), behind(comm);
    Bytes in(out.size()), second(8);
    MPI_Request request;
    exchange(comm, out.size(), tag);
    if (!receives_first) send_refused(comm, out, tag);
    receives.receive(in, peer, tag, &request);
    receives.trigger();
    behind.receive(second, peer, tag);
    behind.trigger();
    if (receives_first) send_refused(comm, out, tag);
    EXPECT_PST_KIND(MPI_Wait(&request, MPI_STATUS_IGNORE), PST_ERROR_TRANSPORT);
    EXPECT_PST_KIND(PST_Queue_wait(receives.queue()), PST_ERROR_TRANSPORT);
    const std::string whose = "rank " + std::to_string(peer) + " (tag " + std::to_string(tag);
    EXPECT_NE(last_error().find(whose), std::string::npos) << last_error();
    EXPECT_NE(last_error().find("refused"), std::string::npos) << last_error();
    EXPECT_PST_KIND(PST_Queue_wait(behind.queue()), PST_ERROR_TRANSPORT);
    EXPECT_EQ(check_value(in.data(), in.size(), std::byte{0}), "");
    exchange(comm, out.size(), tag + 10);
  }
  meet();
}

// Between hosts the receiver does not learn it. But no later message comes in its place.
TEST(EnqueueOnly, Q13_NothingTakesThePlaceOfASendThatMpiRefuses) {
  const PromisedComm comm;
  const int peer = partner();
  // Open MPI 4.1 tells no truncation of a message to the own process.
  if (transport_allowed("peer") || peer == rank()) {
    for (int i = 0; i < 3; ++i) meet();
    GTEST_SKIP() << "between hosts, and of messages to other processes";
  }
  const ErrorsReturn errors;
  EnqueueLane receives(comm), sends(comm);
  Bytes first(8), second(8), short_one(4);
  MPI_Request requests[2];
  receives.receive(first, peer, 1, &requests[0]);
  receives.receive(second, peer, 1, &requests[1]);
  receives.receive(short_one, peer, 2);
  receives.trigger();
  const Bytes out = message(8, rank(), 1), long_one = message(30, rank(), 2);
  send_refused(comm, out, 1);
  meet();
  for (MPI_Request& request : requests) {
    int done = 1;
    EXPECT_EQ(MPI_Test(&request, &done, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(done, 0);
  }
  meet();
  sends.send(long_one, peer, 2);  // it fails the queue, which would wait
  sends.trigger();
  for (MPI_Request& request : requests)
    EXPECT_PST_KIND(MPI_Wait(&request, MPI_STATUS_IGNORE), PST_ERROR_TRUNCATE);
  EXPECT_PST_KIND(PST_Queue_wait(receives.queue()), PST_ERROR_TRUNCATE);
  sends.finish();
  meet();
}

// NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker)

TEST(EnqueueOnly, Q11_WhatIsWrongIsRefused) {
  const ErrorsReturn errors;
  EXPECT_PST_KIND(PST_Comm_enqueue_only(MPI_COMM_NULL), PST_ERROR_COMMUNICATOR);
  PromisedComm comm;
  EXPECT_PST(PST_Comm_enqueue_only(comm));  // once more
  {
    EnqueueLane lane(comm);
    Bytes in(8);
    const Bytes out = message(8, rank(), 1);
    lane.receive(in, partner(), 1);
    EXPECT_PST_KIND(MPI_Comm_free(comm.address()), PST_ERROR_IN_USE);
    lane.send(out, partner(), 1);
    lane.trigger();
    lane.finish();
    expect_message(in, partner(), 1);
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    EXPECT_PST(
        PST_Enqueue_recv(in.data(), 8, MPI_BYTE, partner(), 1, other, lane.queue(), nullptr));
    EXPECT_PST_KIND(PST_Comm_enqueue_only(other), PST_ERROR_IN_USE);
    EXPECT_PST(
        PST_Enqueue_send(out.data(), 8, MPI_BYTE, partner(), 1, other, lane.queue(), nullptr));
    lane.trigger();
    lane.finish();
    EXPECT_EQ(MPI_Comm_free(&other), MPI_SUCCESS);
  }
  if (size() < 2) return;
  MPI_Comm half, both;
  MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, rank(), &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank() % 2 == 0 ? 1 : 0, 4, &both);
  EXPECT_PST_KIND(PST_Comm_enqueue_only(both), PST_ERROR_UNSUPPORTED);
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
}

TEST(EnqueueOnly, Q11_ADatatypeIsCommittedAndHasABuffer) {
  const ErrorsReturn errors;
  const PromisedComm comm;
  EnqueueLane lane(comm);
  for (const int count : {3, 50000}) {
    MPI_Datatype column;
    MPI_Type_vector(count, 1, 2, MPI_INT, &column);
    std::vector<int> out(2 * static_cast<std::size_t>(count), rank()), in(out.size(), -1);
    const auto receive = [&] {
      return PST_Enqueue_recv(in.data(), 1, column, partner(), 1, comm, lane.queue(), nullptr);
    };
    const auto send = [&] {
      return PST_Enqueue_send(out.data(), 1, column, partner(), 1, comm, lane.queue(), nullptr);
    };
    EXPECT_PST_KIND(receive(), PST_ERROR_ARGUMENT);
    EXPECT_NE(last_error().find("MPI_Type_commit"), std::string::npos) << last_error();
    EXPECT_PST_KIND(send(), PST_ERROR_ARGUMENT);
    MPI_Type_commit(&column);
    EXPECT_PST_KIND(PST_Enqueue_send(nullptr, 1, column, partner(), 1, comm, lane.queue(), nullptr),
                    PST_ERROR_ARGUMENT);
    EXPECT_PST(receive());
    EXPECT_PST(send());
    MPI_Type_free(&column);
    lane.trigger();
    lane.finish();
    EXPECT_EQ(in.front(), partner());
  }
}

// Who does not come is late: it learns that the others have given up.
TEST(EnqueueOnly, Q13_WhoWaitsForAMemberGivesUp) {
  if (std::getenv("PENSTOCK_TIMEOUT") != std::string("1"))
    GTEST_SKIP() << "enqueued_late runs it, where PENSTOCK_TIMEOUT is 1";
  const ErrorsReturn errors;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (const bool late : {false, true}) {
    if (late == (rank() == 1)) {
      EXPECT_PST_KIND(PST_Comm_enqueue_only(comm), PST_ERROR_TIMEOUT);
      EXPECT_NE(last_error().find("PST_Comm_enqueue_only"), std::string::npos) << last_error();
    }
    meet();
  }
  EXPECT_PST_KIND(PST_Comm_enqueue_only(comm), PST_ERROR_TIMEOUT);  // at once
  EXPECT_PST_KIND(MPI_Comm_free(&comm), PST_ERROR_IN_USE);
  if (rank() != 1) {  // MPI may tell at its end of the barrier that rank 1 has left to it
    MPI_Request barrier;
    MPI_Ibarrier(comm, &barrier);
    MPI_Wait(&barrier, MPI_STATUS_IGNORE);
  }
  meet();
}

// With PENSTOCK_CHECK a blocking call that breaks the promise is reported; it would never end.
TEST(EnqueueOnly, Q16_ABrokenPromiseIsReported) {
  const char* const check = std::getenv("PENSTOCK_CHECK");
  if (check == nullptr || *check != '1')
    GTEST_SKIP() << "enqueued_checked runs it, where PENSTOCK_CHECK is 1";
  const ErrorsReturn errors;
  const PromisedComm comm;
  int number = 0, found = 0;
  MPI_Status status;
  EXPECT_PST_KIND(MPI_Send(&number, 1, MPI_INT, partner(), 1, comm), PST_ERROR_COMMUNICATOR);
  EXPECT_PST_KIND(MPI_Recv(&number, 1, MPI_INT, partner(), 1, comm, &status),
                  PST_ERROR_COMMUNICATOR);
  EXPECT_NE(last_error().find("MPI_Recv"), std::string::npos) << last_error();
  EXPECT_PST_KIND(MPI_Probe(partner(), 1, comm, &status), PST_ERROR_COMMUNICATOR);
  EXPECT_PST_KIND(MPI_Iprobe(partner(), 1, comm, &found, &status), PST_ERROR_COMMUNICATOR);
  EXPECT_PST_KIND(
      MPI_Sendrecv_replace(&number, 1, MPI_INT, partner(), 1, partner(), 1, comm, &status),
      PST_ERROR_COMMUNICATOR);
  EXPECT_EQ(MPI_Send(&number, 1, MPI_INT, MPI_PROC_NULL, 1, comm), MPI_SUCCESS);
  EXPECT_EQ(MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &found, &status), MPI_SUCCESS);
}

}  // namespace
}  // namespace penstock::test

extern "C" int PMPI_Isend(const void* data, int count, MPI_Datatype type, int peer, int tag,
                          MPI_Comm comm, MPI_Request* request) {
  static const auto own = reinterpret_cast<decltype(&PMPI_Isend)>(dlsym(RTLD_NEXT, "PMPI_Isend"));
  if (penstock::test::refuses_sends) return MPI_ERR_OTHER;
  return own(data, count, type, peer, tag, comm, request);
}
