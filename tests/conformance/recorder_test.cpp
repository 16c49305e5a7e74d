// SPDX-License-Identifier: Apache-2.0
// The recorder: what it keeps of a request is right after the program has freed and reused what the
// request was made from, and a program's own MPI calls behave as without it.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <numeric>
#include <set>
#include <vector>

#include "support/endpoint.hpp"
#include "support/environment.hpp"

namespace penstock::test {
namespace {

// Matches a send and a receive, and runs them once.
void run_pair(MPI_Request& send, MPI_Request& receive) {
  std::array<MPI_Request, 2> requests{send, receive};
  ASSERT_PST(PST_Matchall(2, requests.data(), MPI_STATUSES_IGNORE));
  Lane lane;
  EXPECT_PST(PST_Enqueue_startall(lane.queue(), 2, requests.data()));
  EXPECT_PST(PST_Enqueue_waitall(lane.queue(), 2, requests.data()));
  lane.finish();
}

void free_pair(MPI_Request& send, MPI_Request& receive) {
  EXPECT_EQ(MPI_Request_free(&send), MPI_SUCCESS);
  EXPECT_EQ(MPI_Request_free(&receive), MPI_SUCCESS);
}

TEST(Recorder, AHandleUsedAgainStandsForTheNewRequest) {
  // The first requests of each handle would deliver to the wrong place, or nowhere.
  std::set<MPI_Request> handles;
  bool reused = false;
  for (int i = 0; i < 50; ++i) {
    int out = 0, in = -1, wrong = -1;
    MPI_Request send, receive;
    MPI_Send_init(&wrong, 1, MPI_INT, next_rank(), 999, MPI_COMM_WORLD, &send);
    MPI_Recv_init(&wrong, 1, MPI_INT, previous_rank(), 998, MPI_COMM_WORLD, &receive);
    handles.insert({send, receive});
    free_pair(send, receive);
    out = 100 * i + rank();
    MPI_Send_init(&out, 1, MPI_INT, next_rank(), i, MPI_COMM_WORLD, &send);
    MPI_Recv_init(&in, 1, MPI_INT, previous_rank(), i, MPI_COMM_WORLD, &receive);
    reused = reused || handles.count(send) != 0 || handles.count(receive) != 0;
    run_pair(send, receive);
    EXPECT_EQ(in, 100 * i + previous_rank());
    EXPECT_EQ(wrong, -1);
    free_pair(send, receive);
  }
  EXPECT_TRUE(reused) << "this MPI has not returned a handle again: the test has shown nothing";
}

TEST(Recorder, AHandleThatMpiGivesToAnotherKindOfRequestIsNotMatched) {
  int out = 1, in = 0;
  MPI_Request persistent, plain, receive;
  MPI_Send_init(&out, 1, MPI_INT, rank(), 1, MPI_COMM_WORLD, &persistent);
  MPI_Request_free(&persistent);
  MPI_Irecv(&in, 1, MPI_INT, rank(), 1, MPI_COMM_WORLD, &receive);
  MPI_Isend(&out, 1, MPI_INT, rank(), 1, MPI_COMM_WORLD, &plain);
  MPI_Request copy = receive;
  EXPECT_PST_KIND(PST_Match(&copy, MPI_STATUS_IGNORE), PST_ERROR_REQUEST);
  MPI_Wait(&plain, MPI_STATUS_IGNORE);
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  EXPECT_EQ(in, 1);
}

TEST(Recorder, AContiguousDerivedDatatypeFreedBeforeTheMatch) {
  struct Point {
    double x, y;
    int kind, colour;
  };
  const std::array<int, 2> lengths{2, 2};
  const std::array<MPI_Aint, 2> places{offsetof(Point, x), offsetof(Point, kind)};
  const std::array<MPI_Datatype, 2> types{MPI_DOUBLE, MPI_INT};
  MPI_Datatype point;
  MPI_Type_create_struct(2, lengths.data(), places.data(), types.data(), &point);
  MPI_Type_commit(&point);
  std::array<Point, 100> out{}, in{};
  for (int i = 0; i < 100; ++i) out[i] = {i + 0.5, rank() + 0.25, i, rank()};
  MPI_Request send, receive;
  MPI_Send_init(out.data(), 100, point, next_rank(), 0, MPI_COMM_WORLD, &send);
  MPI_Recv_init(in.data(), 100, point, previous_rank(), 0, MPI_COMM_WORLD, &receive);
  MPI_Type_free(&point);
  run_pair(send, receive);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(in[i].x, i + 0.5);
    EXPECT_EQ(in[i].y, previous_rank() + 0.25);
    EXPECT_EQ(in[i].kind, i);
    EXPECT_EQ(in[i].colour, previous_rank());
  }
  free_pair(send, receive);
}

// The column of a matrix; and two ints in swapped order, whose size and extent look like those of
// plain ones.
TEST(Recorder, AScatteredDatatypeFreedBeforeTheMatch) {
  constexpr int rows = 50, columns = 7;
  MPI_Datatype column;
  MPI_Type_vector(rows, 1, columns, MPI_INT, &column);
  MPI_Type_commit(&column);
  std::array<int, rows * columns> out{}, in{};
  for (int i = 0; i < rows * columns; ++i) out[i] = 1000 * rank() + i;
  in.fill(-1);
  MPI_Request send, receive;
  MPI_Send_init(out.data() + 2, 1, column, next_rank(), 0, MPI_COMM_WORLD, &send);
  MPI_Recv_init(in.data() + 3, 1, column, previous_rank(), 0, MPI_COMM_WORLD, &receive);
  MPI_Type_free(&column);
  run_pair(send, receive);
  for (int i = 0; i < rows * columns; ++i)
    EXPECT_EQ(in[i], i % columns == 3 ? 1000 * previous_rank() + i - 1 : -1) << "element " << i;
  free_pair(send, receive);
}

TEST(Recorder, ADatatypeThatSwapsItsPartsIsNotTakenForPlainBytes) {
  const std::array<int, 2> lengths{1, 1}, places{1, 0};
  MPI_Datatype swapped;
  MPI_Type_indexed(2, lengths.data(), places.data(), MPI_INT, &swapped);
  MPI_Type_commit(&swapped);
  std::array<int, 2> out{10 + rank(), 20 + rank()}, in{-1, -1};
  MPI_Request send, receive;
  MPI_Send_init(out.data(), 1, swapped, next_rank(), 0, MPI_COMM_WORLD, &send);
  MPI_Recv_init(in.data(), 2, MPI_INT, previous_rank(), 0, MPI_COMM_WORLD, &receive);
  MPI_Type_free(&swapped);
  run_pair(send, receive);
  EXPECT_EQ(in[0], 20 + previous_rank());
  EXPECT_EQ(in[1], 10 + previous_rank());
  free_pair(send, receive);
}

TEST(Recorder, TheExplicitFormsRecordTheSame) {
  std::array<char, 256> space{};
  MPI_Buffer_attach(space.data(), 256);
  for (const auto create : {PST_Send_init, PST_Ssend_init, PST_Rsend_init, PST_Bsend_init}) {
    int out = 70 + rank(), in = -1;
    std::array<MPI_Request, 2> requests;
    ASSERT_PST(create(&out, 1, MPI_INT, next_rank(), 2, MPI_COMM_WORLD, &requests[0]));
    ASSERT_PST(PST_Recv_init(&in, 1, MPI_INT, previous_rank(), 2, MPI_COMM_WORLD, &requests[1]));
    ASSERT_PST(PST_Matchall(2, requests.data(), MPI_STATUSES_IGNORE));
    Lane lane;
    lane.start(requests[1]);
    EXPECT_PST(PST_Stream_synchronize(lane.stream()));
    meet();  // a ready send may rely on the receive
    lane.start(requests[0]);
    lane.wait(requests[0]);
    lane.wait(requests[1]);
    lane.finish();
    EXPECT_EQ(in, 70 + previous_rank());
    for (MPI_Request& request : requests) EXPECT_PST(PST_Request_free(&request));
  }
  void* address = nullptr;
  int bytes = 0;
  MPI_Buffer_detach(&address, &bytes);
}

TEST(Recorder, AnErrorOfMpiPassesThroughAndRecordsNothing) {
  int value = 0, error_class = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Send_init(&value, 1, MPI_INT, size() + 5, 0, MPI_COMM_WORLD, &request);
  MPI_Error_class(code, &error_class);
  EXPECT_EQ(error_class, MPI_ERR_RANK);
}

TEST(Recorder, WithoutOurCallsPersistentRequestsArePlainMpi) {
  int out = 0, in = -1;
  std::array<MPI_Request, 2> requests;
  MPI_Send_init(&out, 1, MPI_INT, next_rank(), 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(&in, 1, MPI_INT, previous_rank(), 0, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < 10; ++i) {
    out = 10 * i + rank();
    MPI_Startall(2, requests.data());
    std::array<MPI_Status, 2> statuses;
    MPI_Waitall(2, requests.data(), statuses.data());
    EXPECT_EQ(in, 10 * i + previous_rank());
    EXPECT_EQ(statuses[1].MPI_SOURCE, previous_rank());
  }
  free_pair(requests[0], requests[1]);
}

TEST(Recorder, TheThreadLevelIsWhatTheProgramAskedFor) {
  int level = -1;
  MPI_Query_thread(&level);
  if (only_transport() == "proxy")
    EXPECT_EQ(level, MPI_THREAD_MULTIPLE);
  else
    EXPECT_EQ(level, MPI_THREAD_SINGLE);
}

#if MPI_VERSION >= 4
TEST(Recorder, CountsOfMpiCount) {
  std::vector<int> out(1000), in(1000, -1);
  std::iota(out.begin(), out.end(), rank());
  MPI_Request send, receive;
  MPI_Send_init_c(out.data(), 1000, MPI_INT, next_rank(), 0, MPI_COMM_WORLD, &send);
  MPI_Recv_init_c(in.data(), 1000, MPI_INT, previous_rank(), 0, MPI_COMM_WORLD, &receive);
  run_pair(send, receive);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(in[i], previous_rank() + i);
  free_pair(send, receive);
}

TEST(Recorder, CollectiveRequestsCannotMatch) {
  int value = 0;
  MPI_Request collective;
  MPI_Scan_init(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                &collective);
  EXPECT_PST_KIND(PST_Match(&collective, MPI_STATUS_IGNORE), PST_ERROR_UNSUPPORTED);
  MPI_Request_free(&collective);
}
#endif

// 2^30 times 16 GiB, one element upon the other, so that no memory is beyond the program's.
TEST(Recorder, AMessageBeyondAllCountsIsRefusedAtMatch) {
  MPI_Datatype large = MPI_DATATYPE_NULL;
  MPI_Datatype huge = MPI_DATATYPE_NULL;
  MPI_Datatype flat = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(1 << 30, MPI_BYTE, &large);
  MPI_Type_contiguous(16, large, &huge);
  MPI_Type_create_resized(huge, 0, 0, &flat);
  MPI_Type_commit(&flat);
  std::byte byte{};
  for (const int count : {(1 << 30) + 1, 1 << 30, 1 << 29}) {
    MPI_Request ends[2];
    std::byte room{};
    ASSERT_EQ(MPI_Send_init(&byte, count, flat, rank(), 0, MPI_COMM_WORLD, &ends[0]), MPI_SUCCESS);
    ASSERT_EQ(MPI_Recv_init(&room, 1, MPI_BYTE, rank(), 0, MPI_COMM_WORLD, &ends[1]), MPI_SUCCESS);
    EXPECT_PST_KIND(PST_Matchall(2, ends, MPI_STATUSES_IGNORE), PST_ERROR_ARGUMENT);
    EXPECT_NE(last_error().find("2^63"), std::string::npos) << last_error();
    for (MPI_Request& end : ends) EXPECT_EQ(MPI_Request_free(&end), MPI_SUCCESS);
  }
  for (MPI_Datatype* each : {&large, &huge, &flat}) MPI_Type_free(each);
}

}  // namespace
}  // namespace penstock::test
