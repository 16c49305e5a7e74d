// SPDX-License-Identifier: Apache-2.0
// What members do differently, and what cannot be served, is one error on all of them: nothing
// hangs, and a later collective of the communicator works.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "penstock/penstock.h"
#include "support/environment.hpp"

namespace penstock::test {
namespace {

class CollectiveErrors : public ::testing::Test {
 protected:
  void SetUp() override {
    if (size() < 2) GTEST_SKIP() << "needs two ranks";
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  }
  void TearDown() override {
    if (comm_ == MPI_COMM_NULL) return;
    expect_works();
    MPI_Comm_free(&comm_);
  }

  bool last() const { return rank() == size() - 1; }
  // All members get the kind, and a text that has the words.
  void expect_refused(MPI_Request request, PST_Error kind, const std::string& words) {
    EXPECT_PST_KIND(PST_Match(&request, MPI_STATUS_IGNORE), kind);
    EXPECT_NE(last_error().find(words), std::string::npos) << last_error();
    EXPECT_PST(PST_Request_free(&request));
  }
  void expect_works() {
    int value = 1;
    MPI_Request request;
    EXPECT_PST(PST_Allreduce_init(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, comm_, MPI_INFO_NULL,
                                  &request));
    EXPECT_PST(PST_Match(&request, MPI_STATUS_IGNORE));
    EXPECT_PST(PST_Request_free(&request));
  }
  MPI_Request allreduce(int count, MPI_Datatype type, MPI_Op op, MPI_Info info = MPI_INFO_NULL) {
    MPI_Request request;
    EXPECT_PST(
        PST_Allreduce_init(MPI_IN_PLACE, data_.data(), count, type, op, comm_, info, &request));
    return request;
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<double> data_ = std::vector<double>(64);
};

TEST_F(CollectiveErrors, AnotherCount) {
  expect_refused(allreduce(last() ? 3 : 4, MPI_INT, MPI_SUM), PST_ERROR_TRUNCATE, "bytes");
}

TEST_F(CollectiveErrors, AnotherType) {
  expect_refused(allreduce(4, last() ? MPI_FLOAT : MPI_INT, MPI_SUM), PST_ERROR_ARGUMENT,
                 "the datatype");
}

TEST_F(CollectiveErrors, AnotherOperation) {
  expect_refused(allreduce(4, MPI_INT, last() ? MPI_MAX : MPI_SUM), PST_ERROR_ARGUMENT,
                 "the operation");
}

TEST_F(CollectiveErrors, AnotherCollective) {
  MPI_Request request;
  if (last())
    EXPECT_PST(PST_Barrier_init(comm_, MPI_INFO_NULL, &request));
  else
    request = allreduce(1, MPI_INT, MPI_SUM);
  expect_refused(request, PST_ERROR_ARGUMENT, "rank 0 calls allreduce");
}

TEST_F(CollectiveErrors, AnotherRoot) {
  MPI_Request request;
  EXPECT_PST(
      PST_Bcast_init(data_.data(), 1, MPI_INT, last() ? 1 : 0, comm_, MPI_INFO_NULL, &request));
  expect_refused(request, PST_ERROR_ARGUMENT, "the root");
}

// A frequent slip: only the root of a reduce may have it.
TEST_F(CollectiveErrors, InPlaceOnARankThatIsNoRoot) {
  MPI_Request request;
  EXPECT_PST(PST_Reduce_init(MPI_IN_PLACE, data_.data(), 4, MPI_INT, MPI_SUM, 0, comm_,
                             MPI_INFO_NULL, &request));
  expect_refused(request, PST_ERROR_ARGUMENT, "rank 1: MPI_IN_PLACE");
}

TEST_F(CollectiveErrors, InPlaceWhereABufferMustBe) {
  MPI_Request request;
  EXPECT_PST(PST_Bcast_init(last() ? MPI_IN_PLACE : data_.data(), 4, MPI_INT, 0, comm_,
                            MPI_INFO_NULL, &request));
  expect_refused(request, PST_ERROR_ARGUMENT, "MPI_IN_PLACE");
  EXPECT_PST(PST_Allreduce_init(data_.data(), last() ? MPI_IN_PLACE : data_.data() + 8, 4, MPI_INT,
                                MPI_SUM, comm_, MPI_INFO_NULL, &request));
  expect_refused(request, PST_ERROR_ARGUMENT, "MPI_IN_PLACE");
}

TEST_F(CollectiveErrors, ATypeAndAnOperationThatAreNotServed) {
  const std::string who = "rank " + std::to_string(size() - 1) + ": a reduction does not take ";
  expect_refused(allreduce(4, last() ? MPI_CHAR : MPI_INT, MPI_SUM), PST_ERROR_UNSUPPORTED,
                 who + "MPI_SUM of MPI_CHAR");
  expect_refused(allreduce(4, MPI_INT, last() ? MPI_REPLACE : MPI_SUM), PST_ERROR_UNSUPPORTED,
                 who + "MPI_REPLACE of MPI_INT");
}

TEST_F(CollectiveErrors, PairsThatMpiOrPenstockHasNot) {
  MPI_Datatype half = MPI_DATATYPE_NULL;
  EXPECT_PST(PST_Type_get(PST_TYPE_FLOAT16, &half));
  struct Pair {
    MPI_Datatype type;
    MPI_Op op;
    const char* words;
  };
  for (const Pair& pair : {Pair{MPI_FLOAT, MPI_BAND, "MPI_BAND of MPI_FLOAT"},
                           {MPI_DOUBLE, MPI_LOR, "MPI_LOR of MPI_DOUBLE"},
                           {half, MPI_BXOR, "MPI_BXOR of PST_TYPE_FLOAT16"},
                           {MPI_BYTE, MPI_MAX, "MPI_MAX of MPI_BYTE"},
                           {MPI_C_BOOL, MPI_SUM, "MPI_SUM of MPI_C_BOOL"},
                           {MPI_AINT, MPI_LAND, "MPI_LAND of MPI_AINT"},
                           {MPI_2INT, MPI_MINLOC, "MPI_MINLOC of MPI_2INT"},
                           {MPI_DATATYPE_NULL, MPI_SUM, "MPI_SUM of MPI_DATATYPE_NULL"}})
    expect_refused(allreduce(2, pair.type, pair.op), PST_ERROR_UNSUPPORTED, pair.words);
}

TEST_F(CollectiveErrors, NoSuchHalf) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  EXPECT_PST_KIND(PST_Type_get(static_cast<PST_Type>(7), &type), PST_ERROR_ARGUMENT);
  EXPECT_PST_KIND(PST_Type_get(PST_TYPE_FLOAT16, nullptr), PST_ERROR_ARGUMENT);
  EXPECT_EQ(type, MPI_DATATYPE_NULL);
}

TEST_F(CollectiveErrors, AnAlgorithmThatNobodyKnows) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "penstock_algorithm", "magic");
  expect_refused(allreduce(4, MPI_INT, MPI_SUM, info), PST_ERROR_UNSUPPORTED, "two-shot, doubling");
  MPI_Info_free(&info);
}

#ifdef MPICH  // others' handles are addresses
TEST_F(CollectiveErrors, AnInfoThatMpiDoesNotKnow) {
  const auto unknown = static_cast<MPI_Info>(0x1234);
  expect_refused(allreduce(4, MPI_INT, MPI_SUM, last() ? unknown : MPI_INFO_NULL), PST_ERROR_MPI,
                 "MPI_Info_get");
}
#endif

TEST_F(CollectiveErrors, TooMuchForTheDirectExchange) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "penstock_algorithm", "one-shot");
  data_.resize(100000);
  expect_refused(allreduce(100000, MPI_DOUBLE, MPI_SUM, info), PST_ERROR_UNSUPPORTED,
                 "algorithm one-shot: rank 0");
  expect_refused(allreduce(100000, MPI_DOUBLE, MPI_SUM, info), PST_ERROR_UNSUPPORTED,
                 "without penstock_algorithm");
  MPI_Info_free(&info);
}

// The next epoch of the others is refused, or ends, whoever has gone: those too that have no
// message with it, though nobody frees a request before all have seen the error.
TEST_F(CollectiveErrors, AMemberThatHasFreedItsRequest) {
  for (const char* algorithm : {"two-shot", "doubling", "lanes"}) {
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "penstock_algorithm", algorithm);
    MPI_Request request = allreduce(2, MPI_INT, MPI_SUM, info);
    MPI_Info_free(&info);
    EXPECT_PST(PST_Match(&request, MPI_STATUS_IGNORE));
    if (last()) EXPECT_PST(PST_Request_free(&request));
    MPI_Barrier(comm_);
    if (!last()) {
      PST_Stream stream;
      PST_Queue queue;
      EXPECT_PST(PST_Stream_create(&stream));
      EXPECT_PST(PST_Queue_create(MPI_COMM_NULL, stream, &queue));
      int code = PST_Enqueue_run(queue, &request);
      if (code == MPI_SUCCESS) code = PST_Queue_wait(queue);
      EXPECT_EQ(kind_of(code), PST_ERROR_PEER_FREED) << algorithm << ": " << describe(code);
      PST_Queue_free(&queue);
      PST_Stream_free(&stream);
    }
    MPI_Barrier(comm_);
    if (!last()) EXPECT_PST(PST_Request_free(&request));
  }
}

TEST_F(CollectiveErrors, BlocksThatDoNotFit) {
  const auto ranks = static_cast<std::size_t>(size());
  std::vector<MPI_Count> sends(ranks, 1), receives(ranks, 1);
  if (last()) receives[0] = 2;
  std::vector<MPI_Aint> places(ranks);
  std::vector<int> in(2 * ranks), out(2 * ranks);
  MPI_Request request;
  EXPECT_PST(PST_Alltoallv_init(in.data(), sends.data(), places.data(), MPI_INT, out.data(),
                                receives.data(), places.data(), MPI_INT, comm_, MPI_INFO_NULL,
                                &request));
  const std::string sent = std::to_string(4 * size()) + " bytes) cannot be matched: rank 0 has 4";
  expect_refused(request, PST_ERROR_TRUNCATE, sent);
}

// With PENSTOCK_CHECK=1, on all ranks; else only bytes are compared.
bool checks_elements() {
  const char* const check = std::getenv("PENSTOCK_CHECK");
  return check != nullptr && std::string(check) == "1";
}

class CollectiveElements : public CollectiveErrors {
 protected:
  void expect_other_elements(MPI_Request request, const std::string& words) {
    if (checks_elements()) return expect_refused(request, PST_ERROR_ARGUMENT, words);
    expect_matched(request);
  }
  void expect_matched(MPI_Request request) {
    EXPECT_PST(PST_Match(&request, MPI_STATUS_IGNORE));
    EXPECT_PST(PST_Request_free(&request));
  }
  MPI_Request bcast(MPI_Count count, MPI_Datatype type, int root) {
    MPI_Request request;
    EXPECT_PST(PST_Bcast_init(data_.data(), count, type, root, comm_, MPI_INFO_NULL, &request));
    return request;
  }
  MPI_Request allgather(const void* from, MPI_Datatype sent, MPI_Datatype received) {
    MPI_Request request;
    EXPECT_PST(PST_Allgather_init(from, 2, sent, data_.data() + 8, 2, received, comm_,
                                  MPI_INFO_NULL, &request));
    return request;
  }
  std::string last_rank() const { return std::to_string(size() - 1); }
};

TEST_F(CollectiveElements, OfABroadcast) {
  for (const int root : {0, size() - 1})
    expect_other_elements(bcast(4, last() ? MPI_FLOAT : MPI_INT, root),
                          root == 0 ? "rank 0 sends other elements than rank " + last_rank()
                                    : "rank " + last_rank() + " sends other elements than rank 0");
}

TEST_F(CollectiveElements, OfAnAllgather) {
  const std::string who = "rank " + last_rank() + " sends other elements than rank 0";
  expect_other_elements(allgather(data_.data(), last() ? MPI_FLOAT : MPI_INT, MPI_INT), who);
  expect_other_elements(allgather(data_.data(), MPI_INT, last() ? MPI_FLOAT : MPI_INT),
                        "rank 0 sends other elements than rank " + last_rank());
  expect_other_elements(allgather(MPI_IN_PLACE, MPI_INT, last() ? MPI_FLOAT : MPI_INT),
                        "rank 0 sends other elements than rank " + last_rank());
}

TEST_F(CollectiveElements, OfAnAlltoall) {
  MPI_Request request;
  EXPECT_PST(PST_Alltoall_init(data_.data(), 2, last() ? MPI_FLOAT : MPI_INT, data_.data() + 32, 2,
                               MPI_INT, comm_, MPI_INFO_NULL, &request));
  expect_other_elements(request, "rank " + last_rank() + " sends other elements than rank 0");
}

// Of one signature, or of bytes, which may be anything.
TEST_F(CollectiveElements, OfOtherDatatypesThatFit) {
  MPI_Datatype pair = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  for (const int root : {0, size() - 1}) {
    expect_matched(bcast(last() ? 2 : 4, last() ? pair : MPI_INT, root));
    expect_matched(bcast(last() ? 4 * sizeof(int) : 4, last() ? MPI_BYTE : MPI_INT, root));
  }
  expect_matched(allgather(data_.data(), MPI_INT, last() ? MPI_UNSIGNED : MPI_INT));
  MPI_Request request;
  EXPECT_PST(PST_Allgather_init(data_.data(), 2, MPI_INT, data_.data() + 8, last() ? 1 : 2,
                                last() ? pair : MPI_INT, comm_, MPI_INFO_NULL, &request));
  expect_matched(request);
  MPI_Type_free(&pair);
}

// A block of one element has no gap in it, but the next block lies behind one.
TEST_F(CollectiveErrors, BlocksOfElementsWithGaps) {
  struct Pair {
    double value;
    int index;
  };
  const auto ranks = static_cast<std::size_t>(size());
  const std::vector<MPI_Count> ones(ranks, 1);
  std::vector<MPI_Aint> places(ranks);
  std::iota(places.begin(), places.end(), MPI_Aint{0});
  std::vector<Pair> in(ranks), out(ranks);
  MPI_Request request;
  EXPECT_PST(PST_Alltoallv_init(in.data(), ones.data(), places.data(), MPI_DOUBLE_INT, out.data(),
                                ones.data(), places.data(), MPI_DOUBLE_INT, comm_, MPI_INFO_NULL,
                                &request));
  expect_refused(request, PST_ERROR_UNSUPPORTED, "its datatype has gaps");
}

TEST_F(CollectiveErrors, AnArrayThatIsANullPointer) {
  const auto ranks = static_cast<std::size_t>(size());
  const std::vector<MPI_Count> ones(ranks, 1);
  const std::vector<MPI_Aint> places(ranks);
  const std::string who = "rank " + std::to_string(size() - 1) + ": an array of its counts";
  for (int missing = 0; missing < 4; ++missing) {
    const auto given = [&](int which) { return !last() || which != missing; };
    MPI_Request request;
    EXPECT_PST(PST_Alltoallv_init(
        data_.data(), given(0) ? ones.data() : nullptr, given(1) ? places.data() : nullptr, MPI_INT,
        data_.data() + 8, given(2) ? ones.data() : nullptr, given(3) ? places.data() : nullptr,
        MPI_INT, comm_, MPI_INFO_NULL, &request));
    expect_refused(request, PST_ERROR_ARGUMENT, who);
  }
}

// It takes its number: the collective behind it is the others' next one, as the end of the test
// sees.
TEST_F(CollectiveErrors, NoPlaceForTheRequest) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = PST_Allreduce_init(MPI_IN_PLACE, data_.data(), 1, MPI_INT, MPI_SUM, comm_,
                                      MPI_INFO_NULL, last() ? nullptr : &request);
  if (last()) {
    EXPECT_PST_KIND(code, PST_ERROR_ARGUMENT);
  } else {
    EXPECT_PST(code);
    EXPECT_PST(PST_Request_free(&request));
  }
}

// What does not fit into 64 bits is not taken for less.
TEST_F(CollectiveErrors, MoreBytesThanCanBeCounted) {
  const MPI_Count many = MPI_Count{1} << 62;
  MPI_Request request;
  EXPECT_PST(PST_Allgather_init(data_.data(), many, MPI_BYTE, data_.data(), many, MPI_BYTE, comm_,
                                MPI_INFO_NULL, &request));
  expect_refused(request, PST_ERROR_ARGUMENT, "2^63 bytes");
  const std::vector<MPI_Count> blocks(static_cast<std::size_t>(size()), many);
  const std::vector<MPI_Aint> places(blocks.size());
  EXPECT_PST(PST_Alltoallv_init(data_.data(), blocks.data(), places.data(), MPI_INT, data_.data(),
                                blocks.data(), places.data(), MPI_INT, comm_, MPI_INFO_NULL,
                                &request));
  expect_refused(request, PST_ERROR_ARGUMENT, "2^63 bytes");
}

TEST_F(CollectiveErrors, ANegativeCountIsNoHugeOne) {
  MPI_Request request = allreduce(-1, MPI_INT, MPI_SUM);
  expect_refused(request, PST_ERROR_ARGUMENT, "0 bytes) cannot be matched: rank 0: the count is");
  EXPECT_PST(PST_Alltoall_init(data_.data(), -1, MPI_INT, data_.data() + 8, -1, MPI_INT, comm_,
                               MPI_INFO_NULL, &request));
  expect_refused(request, PST_ERROR_ARGUMENT, "the count is negative: -1");
}

// A ring of all, and what each sends to its two neighbours and receives from them, in numbers.
class NeighborErrors : public CollectiveErrors {
 protected:
  void SetUp() override {
    CollectiveErrors::SetUp();
    if (IsSkipped()) return;
    const int ranks = size(), periodic = 1;
    MPI_Cart_create(comm_, 1, &ranks, &periodic, 0, &ring_);
    MPI_Comm_set_errhandler(ring_, MPI_ERRORS_RETURN);
  }
  void TearDown() override {
    if (ring_ != MPI_COMM_NULL) MPI_Comm_free(&ring_);
    CollectiveErrors::TearDown();
  }
  MPI_Request exchange(const void* from, MPI_Count count, MPI_Count room, MPI_Comm comm) {
    MPI_Request request;
    EXPECT_PST(PST_Neighbor_alltoall_init(from, count, MPI_DOUBLE, data_.data() + 32, room,
                                          MPI_DOUBLE, comm, MPI_INFO_NULL, &request));
    return request;
  }

  MPI_Comm ring_ = MPI_COMM_NULL;
};

TEST_F(NeighborErrors, ACommunicatorWithoutTopology) {
  expect_refused(exchange(data_.data(), 1, 1, comm_), PST_ERROR_ARGUMENT, "has no topology");
}

TEST_F(NeighborErrors, NothingIsInPlace) {
  expect_refused(exchange(last() ? MPI_IN_PLACE : data_.data(), 1, 1, ring_), PST_ERROR_ARGUMENT,
                 "rank " + std::to_string(size() - 1) + ": MPI_IN_PLACE");
}

TEST_F(NeighborErrors, BlocksThatFindNoRoom) {
  expect_refused(exchange(data_.data(), last() ? 3 : 2, 2, ring_), PST_ERROR_TRUNCATE,
                 "rank " + std::to_string(size() - 1) + " has 24 bytes for rank");
}

TEST_F(NeighborErrors, OtherElementsThanTheNeighboursTake) {
  MPI_Request request;
  EXPECT_PST(PST_Neighbor_alltoall_init(data_.data(), 1, last() ? MPI_INT64_T : MPI_DOUBLE,
                                        data_.data() + 32, 1, MPI_DOUBLE, ring_, MPI_INFO_NULL,
                                        &request));
  if (checks_elements())
    return expect_refused(request, PST_ERROR_ARGUMENT,
                          "rank " + std::to_string(size() - 1) + " sends other elements than rank");
  EXPECT_PST(PST_Match(&request, MPI_STATUS_IGNORE));
  EXPECT_PST(PST_Request_free(&request));
}

TEST_F(NeighborErrors, CountsThatNoMemoryHolds) {
  const MPI_Count many = MPI_Count{1} << 62;
  expect_refused(exchange(data_.data(), many, many, ring_), PST_ERROR_ARGUMENT, "2^63 bytes");
  expect_refused(exchange(data_.data(), -3, -3, ring_), PST_ERROR_ARGUMENT, "negative: -3");
}

TEST_F(NeighborErrors, AnAlgorithmThatNobodyKnows) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "penstock_algorithm", "direct");
  MPI_Request request;
  EXPECT_PST(PST_Neighbor_alltoall_init(data_.data(), 1, MPI_INT, data_.data() + 32, 1, MPI_INT,
                                        ring_, info, &request));
  MPI_Info_free(&info);
  expect_refused(request, PST_ERROR_UNSUPPORTED, "there is nonblocking");
}

// Rank 0 has its neighbour twice, and that one it once.
TEST_F(NeighborErrors, TopologiesThatDiffer) {
  const int to[] = {1, 1}, from[] = {1}, weights[] = {1, 1};
  const int back[] = {0}, sources[] = {0};
  MPI_Comm graph;
  if (rank() == 0)
    MPI_Dist_graph_create_adjacent(comm_, 1, from, weights, 2, to, weights, MPI_INFO_NULL, 0,
                                   &graph);
  else
    MPI_Dist_graph_create_adjacent(comm_, rank() == 1 ? 1 : 0, sources, weights,
                                   rank() == 1 ? 1 : 0, back, weights, MPI_INFO_NULL, 0, &graph);
  MPI_Comm_set_errhandler(graph, MPI_ERRORS_RETURN);
  expect_refused(exchange(data_.data(), 1, 1, graph), PST_ERROR_ARGUMENT,
                 "rank 0 has 2 blocks for rank 1, which takes 1 from it");
  MPI_Comm_free(&graph);
}

// The order of matches is free, that of the collectives themselves is not.
TEST_F(CollectiveErrors, AnEndBeforeItsMatchFreesNothingOfOthers) {
  MPI_Request first = allreduce(1, MPI_INT, MPI_SUM), second = allreduce(1, MPI_INT, MPI_SUM);
  EXPECT_PST(PST_Request_free(&first));
  EXPECT_PST(PST_Match(&second, MPI_STATUS_IGNORE));
  EXPECT_PST_KIND(PST_Match(&second, MPI_STATUS_IGNORE), PST_ERROR_ALREADY_MATCHED);
  EXPECT_PST(PST_Request_free(&second));
}

}  // namespace
}  // namespace penstock::test
