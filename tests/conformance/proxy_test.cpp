// SPDX-License-Identifier: Apache-2.0
// What only the proxy transport offers, or does in its own way: derived datatypes, pairs matched
// and freed again and again, many pairs of which few are busy.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "support/endpoint.hpp"
#include "support/environment.hpp"

namespace penstock::test {
namespace {

constexpr int tag = 3;

// `count` blocks of `length` ints, `stride` ints apart.
class Blocks {
 public:
  Blocks(int count, int length, int stride) : count_(count), length_(length), stride_(stride) {
    MPI_Type_vector(count, length, stride, MPI_INT, &type_);
    MPI_Type_commit(&type_);
  }
  ~Blocks() { free(); }
  Blocks(const Blocks&) = delete;
  Blocks& operator=(const Blocks&) = delete;
  void free() {
    if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
  }

  MPI_Datatype type() const { return type_; }
  std::size_t extent() const { return static_cast<std::size_t>((count_ - 1) * stride_ + length_); }
  int size() const { return count_ * length_; }
  // Where the n-th int of the message lies.
  std::size_t place(int n) const {
    return static_cast<std::size_t>(n / length_ * stride_ + n % length_);
  }

 private:
  int count_, length_, stride_;
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

int value(int epoch, int n) {
  return epoch * 1000003 + n;
}

int init_send(Kind kind, void* data, MPI_Datatype type, int peer, MPI_Request* request) {
  switch (kind) {
    case Kind::standard:
      return MPI_Send_init(data, 1, type, peer, tag, MPI_COMM_WORLD, request);
    case Kind::synchronous:
      return MPI_Ssend_init(data, 1, type, peer, tag, MPI_COMM_WORLD, request);
    case Kind::ready:
      return MPI_Rsend_init(data, 1, type, peer, tag, MPI_COMM_WORLD, request);
    case Kind::buffered:
      return MPI_Bsend_init(data, 1, type, peer, tag, MPI_COMM_WORLD, request);
  }
  return MPI_ERR_OTHER;
}

// Both ranks of a pair send and receive; the receive has room for more than arrives.
void exchange(Kind kind, const Blocks& sent, const Blocks& received) {
  SCOPED_TRACE(std::string(name(kind)) + ", " + std::to_string(sent.size()) + " ints");
  const int peer = partner();
  std::vector<int> out(sent.extent()), in(received.extent());
  std::vector<MPI_Request> requests(2, MPI_REQUEST_NULL);
  MPI_Recv_init(in.data(), 1, received.type(), peer, tag, MPI_COMM_WORLD, &requests[0]);
  init_send(kind, out.data(), sent.type(), peer, &requests[1]);
  std::vector<MPI_Status> statuses(2);
  ASSERT_PST(PST_Matchall(2, requests.data(), statuses.data()));
  EXPECT_EQ(transport_of(requests[0]), "proxy");
  int bytes = 0;
  MPI_Get_count(&statuses[0], MPI_BYTE, &bytes);
  EXPECT_EQ(static_cast<std::size_t>(bytes), static_cast<std::size_t>(sent.size()) * sizeof(int));
  {
    Lane lane;
    for (int epoch = 1; epoch <= 4; ++epoch) {
      std::fill(in.begin(), in.end(), -1);
      std::fill(out.begin(), out.end(), -2);
      for (int n = 0; n < sent.size(); ++n) out[sent.place(n)] = value(epoch, n);
      lane.start(requests[0]);
      EXPECT_PST(PST_Stream_synchronize(lane.stream()));
      meet();  // for the promise of ready sends
      lane.start(requests[1]);
      lane.wait(requests[1]);
      lane.wait(requests[0]);
      lane.finish();
      std::vector<int> expected(in.size(), -1);
      for (int n = 0; n < sent.size(); ++n) expected[received.place(n)] = value(epoch, n);
      EXPECT_EQ(in, expected) << "epoch " << epoch;
      meet();
    }
  }
  for (MPI_Request& request : requests) MPI_Request_free(&request);
}

TEST(Proxy, DerivedDatatypesOfEveryKindOfSend) {
  for (const Kind kind : {Kind::standard, Kind::synchronous, Kind::ready, Kind::buffered})
    for (const int blocks : {1, 7, 20000})
      exchange(kind, Blocks(blocks, 3, 5), Blocks(blocks, 3, 4));
}

TEST(Proxy, TheTwoEndsMayDifferInLayout) {
  for (const Kind kind : {Kind::standard, Kind::buffered}) {
    exchange(kind, Blocks(1, 600, 600), Blocks(200, 3, 7));
    exchange(kind, Blocks(200, 3, 7), Blocks(1, 600, 600));
  }
}

TEST(Proxy, ALongerReceiveLeavesTheRestAndTheGapsUntouched) {
  for (const Kind kind : {Kind::standard, Kind::synchronous, Kind::buffered})
    for (const int blocks : {10, 20000})
      exchange(kind, Blocks(blocks, 3, 5), Blocks(2 * blocks, 3, 4));
}

TEST(Proxy, ADatatypeMayBeFreedBeforeTheMatch) {
  const int peer = partner();
  Blocks layout(50, 2, 3);
  std::vector<int> out(layout.extent(), 7), in(layout.extent(), -1);
  std::vector<MPI_Request> requests(2, MPI_REQUEST_NULL);
  MPI_Recv_init(in.data(), 1, layout.type(), peer, tag, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(out.data(), 1, layout.type(), peer, tag, MPI_COMM_WORLD, &requests[1]);
  layout.free();
  ASSERT_PST(PST_Matchall(2, requests.data(), MPI_STATUSES_IGNORE));
  {
    Lane lane;
    EXPECT_PST(PST_Enqueue_startall(lane.queue(), 2, requests.data()));
    EXPECT_PST(PST_Enqueue_waitall(lane.queue(), 2, requests.data()));
    lane.finish();
  }
  for (int n = 0; n < layout.size(); ++n) ASSERT_EQ(in[layout.place(n)], 7);
  for (MPI_Request& request : requests) MPI_Request_free(&request);
}

// Tags are used again; nothing of an earlier pair reaches a later one.
TEST(Proxy, G6_PairsMatchedAndFreedAgainAndAgain) {
  const int peer = partner();
  const int rounds = size() > 2 ? 60 : 200;
  Lane lane;
  for (int round = 0; round < rounds; ++round) {
    int out = round, in = -1;
    std::vector<MPI_Request> requests(2, MPI_REQUEST_NULL);
    MPI_Recv_init(&in, 1, MPI_INT, peer, tag, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(&out, 1, MPI_INT, peer, tag, MPI_COMM_WORLD, &requests[1]);
    ASSERT_PST(PST_Matchall(2, requests.data(), MPI_STATUSES_IGNORE));
    EXPECT_PST(PST_Enqueue_startall(lane.queue(), 2, requests.data()));
    EXPECT_PST(PST_Enqueue_waitall(lane.queue(), 2, requests.data()));
    lane.finish();
    ASSERT_EQ(in, round);
    for (MPI_Request& request : requests) EXPECT_PST(MPI_Request_free(&request));
    EXPECT_PST(PST_Stream_synchronize(lane.stream()));  // `in` and `out` end here
  }
}

TEST(Proxy, ThousandsOfPairsInOneBatchAndOneBusyAmongThem) {
  const int peer = partner();
  constexpr int pairs = 1000;
  std::vector<int> out(pairs), in(pairs, -1);
  std::vector<MPI_Request> requests(2 * pairs, MPI_REQUEST_NULL);
  for (int i = 0; i < pairs; ++i) {
    const auto n = static_cast<std::size_t>(i);
    out[n] = i;
    MPI_Recv_init(&in[n], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &requests[2 * n]);
    MPI_Send_init(&out[n], 1, MPI_INT, peer, i, MPI_COMM_WORLD, &requests[2 * n + 1]);
  }
  ASSERT_PST(PST_Matchall(2 * pairs, requests.data(), MPI_STATUSES_IGNORE));
  {
    Lane lane;
    EXPECT_PST(PST_Enqueue_startall(lane.queue(), 2 * pairs, requests.data()));
    EXPECT_PST(PST_Enqueue_waitall(lane.queue(), 2 * pairs, requests.data()));
    for (int epoch = 0; epoch < 100; ++epoch) {
      EXPECT_PST(PST_Enqueue_startall(lane.queue(), 2, &requests[pairs]));
      EXPECT_PST(PST_Enqueue_waitall(lane.queue(), 2, &requests[pairs]));
    }
    lane.finish();
  }
  EXPECT_EQ(in, out);
  for (MPI_Request& request : requests) EXPECT_PST(MPI_Request_free(&request));
}

}  // namespace
}  // namespace penstock::test
