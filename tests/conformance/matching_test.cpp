// SPDX-License-Identifier: Apache-2.0
// Matching (ST III-C): order, wildcards, statuses, truncation, the non-blocking forms, thousands of
// pairs.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "support/endpoint.hpp"
#include "support/environment.hpp"
#include "support/rounds.hpp"

namespace penstock::test {
namespace {

using Requests = std::vector<MPI_Request>;

void match(Requests& requests, std::vector<MPI_Status>* statuses = nullptr) {
  ASSERT_PST(PST_Matchall(static_cast<int>(requests.size()), requests.data(),
                          statuses ? statuses->data() : MPI_STATUSES_IGNORE));
}

void free_all(Requests& requests) {
  for (MPI_Request& request : requests) MPI_Request_free(&request);
}

// Runs one epoch of all requests on a queue of its own.
void run_once(Requests& requests) {
  Lane lane;
  EXPECT_PST(
      PST_Enqueue_startall(lane.queue(), static_cast<int>(requests.size()), requests.data()));
  EXPECT_PST(PST_Enqueue_waitall(lane.queue(), static_cast<int>(requests.size()), requests.data()));
  lane.finish();
}

TEST(Matching, SameTagPairsInTheOrderHandedToMatch) {
  constexpr int count = 20;
  std::array<int, count> out{};
  std::array<int, count> in{};
  Requests requests(2 * count);
  for (int i = 0; i < count; ++i) {
    out[i] = rank() * 1000 + i;
    MPI_Send_init(&out[i], 1, MPI_INT, next_rank(), 3, MPI_COMM_WORLD, &requests[i]);
    MPI_Recv_init(&in[i], 1, MPI_INT, previous_rank(), 3, MPI_COMM_WORLD, &requests[count + i]);
  }
  // The sends are handed over backwards: what counts is that order, not the order of creation.
  std::reverse(requests.begin(), requests.begin() + count);
  match(requests);
  run_once(requests);
  for (int i = 0; i < count; ++i) EXPECT_EQ(in[i], previous_rank() * 1000 + count - 1 - i);
  free_all(requests);
}

TEST(Matching, DifferentTagsPairWhateverTheOrder) {
  constexpr int count = 20;
  std::array<int, count> out{};
  std::array<int, count> in{};
  Requests requests(2 * count);
  for (int i = 0; i < count; ++i) {
    out[i] = i;
    MPI_Send_init(&out[i], 1, MPI_INT, next_rank(), i, MPI_COMM_WORLD, &requests[i]);
    MPI_Recv_init(&in[i], 1, MPI_INT, previous_rank(), i, MPI_COMM_WORLD, &requests[count + i]);
  }
  auto random = generator(static_cast<std::uint64_t>(rank()));
  std::shuffle(requests.begin(), requests.end(), random);
  match(requests);
  run_once(requests);
  for (int i = 0; i < count; ++i) EXPECT_EQ(in[i], i);
  free_all(requests);
}

TEST(Matching, WildcardsAreResolvedOnceAndTheStatusSaysToWhat) {
  // Rank 0 receives one message from everybody, itself too, without saying from whom.
  std::vector<int> in(static_cast<std::size_t>(size()), -1);
  int out = 100 + rank();
  Requests requests(1);
  MPI_Send_init(&out, 1, MPI_INT, 0, 40 + rank(), MPI_COMM_WORLD, &requests[0]);
  if (rank() == 0) {
    requests.resize(1 + static_cast<std::size_t>(size()));
    for (int i = 0; i < size(); ++i)
      MPI_Recv_init(&in[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                    &requests[1 + i]);
  }
  std::vector<MPI_Status> statuses(requests.size());
  match(requests, &statuses);
  for (int epoch = 0; epoch < 3; ++epoch) {
    out = 1000 * epoch + rank();
    meet();
    run_once(requests);
    std::vector<bool> seen(static_cast<std::size_t>(size()));
    for (std::size_t i = 1; i < requests.size(); ++i) {
      const int source = statuses[i].MPI_SOURCE;
      ASSERT_GE(source, 0);
      ASSERT_LT(source, size());
      EXPECT_EQ(statuses[i].MPI_TAG, 40 + source);
      EXPECT_EQ(in[i - 1], 1000 * epoch + source);
      EXPECT_FALSE(seen[source]);
      seen[source] = true;
      MPI_Status again;
      EXPECT_PST(PST_Match_status(requests[i], &again));
      EXPECT_EQ(again.MPI_SOURCE, source);
    }
  }
  free_all(requests);
}

TEST(Matching, StatusOfALongerReceiveHasTheSendsSize) {
  std::array<char, 10> out{};
  std::array<char, 30> in{};
  Requests requests(2);
  MPI_Send_init(out.data(), 10, MPI_CHAR, next_rank(), 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(in.data(), 30, MPI_CHAR, previous_rank(), 0, MPI_COMM_WORLD, &requests[1]);
  std::vector<MPI_Status> statuses(2);
  match(requests, &statuses);
  int count = -1;
  MPI_Get_count(&statuses[1], MPI_CHAR, &count);
  EXPECT_EQ(count, 10);
  EXPECT_EQ(statuses[1].MPI_SOURCE, previous_rank());
  MPI_Get_count(&statuses[0], MPI_CHAR, &count);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(statuses[0].MPI_SOURCE, MPI_ANY_SOURCE);
  EXPECT_EQ(statuses[0].MPI_TAG, MPI_ANY_TAG);
  free_all(requests);
}

TEST(Matching, ProcNullMatchesAtOnceAndDoesNothing) {
  int value = 7;
  Requests requests(2);
  MPI_Send_init(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[1]);
  std::vector<MPI_Status> statuses(2);
  match(requests, &statuses);
  EXPECT_EQ(statuses[1].MPI_SOURCE, MPI_PROC_NULL);
  EXPECT_EQ(statuses[1].MPI_TAG, MPI_ANY_TAG);
  EXPECT_EQ(transport_of(requests[0]), "null");
  for (int epoch = 0; epoch < 3; ++epoch) run_once(requests);
  EXPECT_EQ(value, 7);
  Lane lane;
  EXPECT_PST_KIND(PST_Enqueue_wait(lane.queue(), &requests[0]), PST_ERROR_NOT_STARTED);
  free_all(requests);
}

TEST(Matching, TruncationIsReportedOnBothEndsAndTheyStayUnmatched) {
  std::array<char, 64> buffer{};
  Requests requests(2);
  MPI_Send_init(buffer.data(), 64, MPI_CHAR, next_rank(), 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(buffer.data(), 63, MPI_CHAR, previous_rank(), 0, MPI_COMM_WORLD, &requests[1]);
  const int code = PST_Matchall(2, requests.data(), MPI_STATUSES_IGNORE);
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  EXPECT_EQ(error_class, MPI_ERR_TRUNCATE) << describe(code);
  EXPECT_NE(last_error().find("64"), std::string::npos) << last_error();
  for (const MPI_Request& request : requests) {
    int flag = 1;
    EXPECT_PST(PST_Is_matched(request, &flag));
    EXPECT_EQ(flag, 0);
  }
  free_all(requests);
  meet();
}

TEST(Matching, ImatchCompletesByTheWaitAndTestFamilies) {
  const auto complete = [](int how, MPI_Request* matching) {
    int flag = 0;
    int index = 0;
    int indices[1];
    switch (how) {
      case 0:
        return MPI_Wait(matching, MPI_STATUS_IGNORE);
      case 1:
        return MPI_Waitall(1, matching, MPI_STATUSES_IGNORE);
      case 2:
        return MPI_Waitany(1, matching, &index, MPI_STATUS_IGNORE);
      case 3:
        return MPI_Waitsome(1, matching, &index, indices, MPI_STATUSES_IGNORE);
      case 4:
        while (!flag) MPI_Test(matching, &flag, MPI_STATUS_IGNORE);
        return MPI_SUCCESS;
      case 5:
        while (!flag) MPI_Testall(1, matching, &flag, MPI_STATUSES_IGNORE);
        return MPI_SUCCESS;
      case 6:
        while (!flag) MPI_Testany(1, matching, &index, &flag, MPI_STATUS_IGNORE);
        return MPI_SUCCESS;
      case 7:
        while (index != 1) MPI_Testsome(1, matching, &index, indices, MPI_STATUSES_IGNORE);
        return MPI_SUCCESS;
      default:
        while (!flag) MPI_Request_get_status(*matching, &flag, MPI_STATUS_IGNORE);
        return MPI_Wait(matching, MPI_STATUS_IGNORE);
    }
  };
  for (int how = 0; how <= 8; ++how) {
    int out = rank() + how;
    int in = -1;
    Requests requests(2);
    MPI_Send_init(&out, 1, MPI_INT, next_rank(), how, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(&in, 1, MPI_INT, previous_rank(), how, MPI_COMM_WORLD, &requests[1]);
    MPI_Request matching = MPI_REQUEST_NULL;
    ASSERT_PST(PST_Imatchall(2, requests.data(), &matching));
    EXPECT_EQ(complete(how, &matching), MPI_SUCCESS);
    EXPECT_EQ(matching, MPI_REQUEST_NULL);
    int flag = 0;
    EXPECT_PST(PST_Is_matched(requests[1], &flag));
    EXPECT_EQ(flag, 1);
    run_once(requests);
    EXPECT_EQ(in, previous_rank() + how);
    free_all(requests);
  }
}

TEST(Matching, IsMatchedAloneDrivesAMatch) {
  int out = rank();
  int in = -1;
  Requests requests(2);
  MPI_Send_init(&out, 1, MPI_INT, next_rank(), 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(&in, 1, MPI_INT, previous_rank(), 0, MPI_COMM_WORLD, &requests[1]);
  std::array<MPI_Request, 2> matching{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  ASSERT_PST(PST_Imatch(&requests[0], &matching[0]));
  ASSERT_PST(PST_Imatch(&requests[1], &matching[1]));
  for (const MPI_Request& request : requests)
    for (int flag = 0; !flag;) ASSERT_PST(PST_Is_matched(request, &flag));
  EXPECT_EQ(MPI_Waitall(2, matching.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
  free_all(requests);
}

TEST(Matching, QueueWaitDrivesAMatch) {
  // Every rank posts a match and then waits for a queue whose wait ends only when its neighbour has
  // gone on to its own.
  Sender sender(8, Memory::allocated, sequence_key(rank(), next_rank(), 1));
  Receiver receiver(8, Memory::allocated, sequence_key(previous_rank(), rank(), 1));
  sender.init(Kind::synchronous, next_rank(), 1);
  receiver.init(previous_rank(), 1);
  Requests first{sender.request(), receiver.request()};
  match(first);
  int out = rank();
  int in = -1;
  Requests second(2);
  MPI_Send_init(&out, 1, MPI_INT, next_rank(), 2, MPI_COMM_WORLD, &second[0]);
  MPI_Recv_init(&in, 1, MPI_INT, previous_rank(), 2, MPI_COMM_WORLD, &second[1]);
  MPI_Request matching = MPI_REQUEST_NULL;
  ASSERT_PST(PST_Imatchall(2, second.data(), &matching));
  Lane lane;
  receiver.enqueue_start(lane);
  sender.enqueue_start(lane);
  receiver.enqueue_wait(lane);
  sender.enqueue_wait(lane);
  lane.finish();
  receiver.expect_good(1);
  EXPECT_EQ(MPI_Wait(&matching, MPI_STATUS_IGNORE), MPI_SUCCESS);
  free_all(second);
}

TEST(Matching, AMatchUnderWayCannotBeCancelledOrItsRequestFreed) {
  int value = 0;
  MPI_Request receive = MPI_REQUEST_NULL;
  MPI_Recv_init(&value, 1, MPI_INT, previous_rank(), 9, MPI_COMM_WORLD, &receive);
  MPI_Request matching = MPI_REQUEST_NULL;
  ASSERT_PST(PST_Imatch(&receive, &matching));
  EXPECT_NE(MPI_Cancel(&matching), MPI_SUCCESS);
  MPI_Request copy = receive;
  EXPECT_PST_KIND(MPI_Request_free(&copy), PST_ERROR_IN_USE);
  EXPECT_PST_KIND(PST_Match(&receive, MPI_STATUS_IGNORE), PST_ERROR_ALREADY_MATCHED);
  Lane lane;
  EXPECT_PST_KIND(PST_Enqueue_start(lane.queue(), &matching), PST_ERROR_REQUEST);
  // At MPI_THREAD_MULTIPLE the match may end by itself as soon as its peer sends.
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Request send = MPI_REQUEST_NULL;
  MPI_Send_init(&value, 1, MPI_INT, next_rank(), 9, MPI_COMM_WORLD, &send);
  ASSERT_PST(PST_Match(&send, MPI_STATUS_IGNORE));
  EXPECT_EQ(MPI_Wait(&matching, MPI_STATUS_IGNORE), MPI_SUCCESS);
  MPI_Request_free(&send);
  MPI_Request_free(&receive);
}

TEST(Matching, APairMayBeUsedAndFreedWhileTheRestOfItsCallIsUnderWay) {
  const int out = rank();
  std::array<int, 2> in{-1, -1};
  Requests receives(2);
  for (int tag = 0; tag < 2; ++tag)
    MPI_Recv_init(&in[tag], 1, MPI_INT, previous_rank(), tag, MPI_COMM_WORLD, &receives[tag]);
  MPI_Request matching = MPI_REQUEST_NULL;
  ASSERT_PST(PST_Imatchall(2, receives.data(), &matching));
  const auto send = [&](int tag) {
    Requests pair{MPI_REQUEST_NULL, receives[tag]};
    MPI_Send_init(&out, 1, MPI_INT, next_rank(), tag, MPI_COMM_WORLD, &pair[0]);
    ASSERT_PST(PST_Match(&pair[0], MPI_STATUS_IGNORE));
    for (int matched = 0; !matched;) ASSERT_PST(PST_Is_matched(pair[1], &matched));
    run_once(pair);
    EXPECT_EQ(in[tag], previous_rank());
    free_all(pair);
  };
  send(0);
  int complete = 0;
  for (int look = 0; look < 100; ++look)
    EXPECT_EQ(MPI_Test(&matching, &complete, MPI_STATUS_IGNORE), MPI_SUCCESS);
  MPI_Barrier(MPI_COMM_WORLD);  // nobody has sent the second one before everybody has looked
  EXPECT_FALSE(complete);
  send(1);
  EXPECT_EQ(MPI_Wait(&matching, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

TEST(Matching, CopiesOfAHandleDenoteTheMatchedRequest) {
  int out = rank();
  int in = -1;
  Requests requests(2);
  MPI_Send_init(&out, 1, MPI_INT, next_rank(), 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(&in, 1, MPI_INT, previous_rank(), 0, MPI_COMM_WORLD, &requests[1]);
  Requests copies = requests;
  match(requests);
  EXPECT_EQ(copies, requests);
  run_once(copies);
  EXPECT_EQ(in, previous_rank());
  free_all(requests);
}

TEST(Matching, MpiStartOnAMatchedRequestStaysPlainMpi) {
  int out = 10 + rank();
  int in = -1;
  Requests requests(2);
  MPI_Send_init(&out, 1, MPI_INT, next_rank(), 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(&in, 1, MPI_INT, previous_rank(), 0, MPI_COMM_WORLD, &requests[1]);
  match(requests);
  MPI_Startall(2, requests.data());
  MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
  EXPECT_EQ(in, 10 + previous_rank());
  out = 20 + rank();
  meet();
  run_once(requests);
  EXPECT_EQ(in, 20 + previous_rank());
  free_all(requests);
}

TEST(Matching, ThousandsOfPairs) {
  const int count = fewer_rounds(10000, 5);
  std::vector<int> out(count);
  std::vector<int> in(count, -1);
  Requests requests(2 * static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    out[i] = rank() * count + i;
    MPI_Send_init(&out[i], 1, MPI_INT, next_rank(), i % 1000, MPI_COMM_WORLD, &requests[i]);
    MPI_Recv_init(&in[i], 1, MPI_INT, previous_rank(), i % 1000, MPI_COMM_WORLD,
                  &requests[count + i]);
  }
  meet();
  const auto begin = std::chrono::steady_clock::now();
  match(requests);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  if (rank() == 0) std::printf("%d pairs a rank matched in %.3f s\n", count, seconds.count());
  if (only_transport() == "peer") {
    EXPECT_EQ(transport_of(requests.back()), "peer");
  }
  run_once(requests);
  for (int i = 0; i < count; ++i) ASSERT_EQ(in[i], previous_rank() * count + i);
  free_all(requests);
}

}  // namespace
}  // namespace penstock::test
