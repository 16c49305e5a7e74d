// SPDX-License-Identifier: Apache-2.0
// Messages that a queue's trigger hands to MPI, which matches them. Q1 and so on are the litmus
// programs of docs/queue.md.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <string>

#include "conformance/enqueued.hpp"
#include "support/rounds.hpp"

namespace penstock::test {
namespace {

// The four messages and their tags, in the paper's order and in another.
TEST(Enqueued, Q1_TagsOutOfOrderFindTheirBuffers) {
  const int peer = partner();
  const std::vector<int> tags{123, 126, 125, 124}, others{126, 123, 124, 125};
  for (const MPI_Comm queue_comm : {MPI_COMM_WORLD, MPI_COMM_NULL}) {
    EnqueueLane lane(queue_comm);
    std::vector<Bytes> out, in(4, Bytes(400));
    for (int i = 0; i < 4; ++i) out.push_back(message(400, rank(), static_cast<unsigned>(tags[i])));
    for (int i = 0; i < 4; ++i)
      EXPECT_PST(PST_Enqueue_send(out[i].data(), 400, MPI_BYTE, peer, tags[i], MPI_COMM_WORLD,
                                  lane.queue(), nullptr));
    for (int i = 0; i < 4; ++i)
      EXPECT_PST(PST_Enqueue_recv(in[i].data(), 400, MPI_BYTE, peer, others[i], MPI_COMM_WORLD,
                                  lane.queue(), nullptr));
    lane.trigger();
    lane.wait();
    lane.finish();
    for (int i = 0; i < 4; ++i) expect_message(in[i], peer, static_cast<unsigned>(others[i]));
  }
}

TEST(Enqueued, Q4_AWaitIsForAllThatWasTriggeredBefore) {
  const int peer = partner();
  EnqueueLane lane;
  Bytes first(64), second(70000);
  const Bytes out = message(64, rank(), 1), large = message(70000, rank(), 2);
  lane.wait();     // nothing is triggered
  lane.trigger();  // nothing is enqueued
  lane.wait();
  lane.finish();
  lane.send(out, peer, 1);
  lane.receive(first, peer, 1);
  lane.trigger();
  lane.trigger();
  lane.send(large, peer, 2);
  lane.receive(second, peer, 2);
  lane.trigger();
  lane.wait();
  struct Seen {
    const Bytes& first;
    const Bytes& second;
    int from;
    std::string wrong;
    static void look(void* seen) {
      auto& self = *static_cast<Seen*>(seen);
      const auto key = seed() + static_cast<std::uint64_t>(self.from);
      self.wrong = check_pattern(self.first.data(), self.first.size(), key, 1) +
                   check_pattern(self.second.data(), self.second.size(), key, 2);
    }
  } seen{first, second, peer, "not looked at"};
  lane.launch(Seen::look, &seen);
  lane.run_dry();
  EXPECT_EQ(seen.wrong, "");
  lane.finish();
}

// The receive is enqueued and not triggered, and the peer sends nothing.
TEST(Enqueued, Q4_AWaitIsNotForWhatIsNotTriggered) {
  const int peer = partner();
  EnqueueLane lane;
  Bytes in(8), open(8);
  const Bytes out = message(8, rank(), 3);
  lane.send(out, peer, 1);
  lane.receive(in, peer, 1);
  lane.trigger();
  lane.receive(open, peer, 2);
  lane.wait();
  lane.finish();
  expect_message(in, peer, 3);
  int flag = 0;
  EXPECT_PST(PST_Queue_test(lane.queue(), &flag));
  EXPECT_EQ(flag, 1);
  EXPECT_PST_KIND(PST_Queue_close(lane.queue()), PST_ERROR_IN_USE);
  EXPECT_NE(last_error().find("1 enqueued messages that nothing has triggered"), std::string::npos)
      << last_error();
  EXPECT_PST_KIND(lane.free_queue(), PST_ERROR_IN_USE);
  meet();
  const Bytes late = message(8, rank(), 4);
  lane.send(late, peer, 2);
  lane.trigger();
  lane.finish();
  expect_message(open, peer, 4);
}

TEST(Enqueued, Q5_AThousandSendsOfOneTagStayInOrder) {
  const int peer = partner();
  if (peer == rank()) return;
  const unsigned count = 1000;
  const auto bytes_of = [](unsigned i) { return std::size_t{(i * 7919) % 20000}; };
  if (rank() % 2 == 0) {
    EnqueueLane lane;
    std::vector<Bytes> out;
    for (unsigned i = 0; i < count; ++i) out.push_back(message(bytes_of(i), rank(), i));
    for (unsigned i = 0; i < count; ++i) {
      lane.send(out[i], peer, 3);
      if (i % 7 == 0) lane.trigger();
    }
    lane.trigger();
    lane.finish();
  } else {
    for (unsigned i = 0; i < count; ++i) {
      Bytes in(20000);
      MPI_Status status;
      MPI_Recv(in.data(), 20000, MPI_BYTE, peer, 3, MPI_COMM_WORLD, &status);
      expect_status(status, peer, 3, bytes_of(i));
      in.resize(bytes_of(i));
      expect_message(in, peer, i);
      if (HasFailure()) return;
    }
  }
}

struct Filled {
  Bytes bytes;
  std::uint64_t number = 0;
  static void next(void* filled) {
    auto& self = *static_cast<Filled*>(filled);
    fill_pattern(self.bytes.data(), self.bytes.size(), seed() + static_cast<unsigned>(rank()),
                 ++self.number);
  }
};
struct Checked {
  Bytes bytes;
  int from = 0;
  std::uint64_t number = 0;
  std::string wrong = {};
  static void next(void* checked) {
    auto& self = *static_cast<Checked*>(checked);
    self.wrong += check_pattern(self.bytes.data(), self.bytes.size(),
                                seed() + static_cast<unsigned>(self.from), ++self.number);
  }
};

// Work of the stream writes the message between its enqueueing and its trigger, and overwrites it
// behind the wait.
TEST(Enqueued, Q6_AMessageHoldsWhatTheStreamWroteBeforeItsTrigger) {
  const int peer = partner();
  for (const std::size_t bytes : enqueued_sizes()) {
    if (bytes == 0) continue;
    EnqueueLane lane;
    Filled out{Bytes(bytes)};
    Checked in{Bytes(bytes), peer};
    for (int round = 0; round < 20; ++round) {
      lane.send(out.bytes, peer, 4);
      lane.receive(in.bytes, peer, 4);
      lane.launch(Filled::next, &out);
      lane.trigger();
      lane.wait();
      lane.launch(Checked::next, &in);
    }
    lane.finish();
    EXPECT_EQ(in.wrong, "");
    EXPECT_EQ(in.number, 20u);
  }
}

// Both ranks send first, far more than MPI buffers; the receives stand in later triggers.
TEST(Enqueued, Q7_ATriggerNeverStopsTheStream) {
  const std::size_t bytes = std::size_t{3} << 20;
  EnqueueLane lane;
  const int next = next_rank(), previous = previous_rank();
  std::vector<Bytes> out, in(3, Bytes(bytes));
  for (unsigned i = 0; i < 3; ++i) out.push_back(message(bytes, rank(), i));
  for (const Bytes& each : out) {
    lane.send(each, next, 5);
    lane.trigger();
  }
  std::atomic<bool> reached{false};
  lane.launch([](void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); }, &reached);
  lane.run_dry();
  EXPECT_TRUE(reached.load());
  for (Bytes& each : in) {
    lane.receive(each, previous, 5);
    lane.trigger();
  }
  lane.wait();
  lane.finish();
  for (unsigned i = 0; i < 3; ++i) expect_message(in[i], previous, i);
}

TEST(Enqueued, Q7_AChainOfWaitsRunsThroughAllRanks) {
  EnqueueLane lane;
  Bytes token(100000);
  const bool first = rank() == 0;
  if (first) token = message(token.size(), 0, 9);
  if (!first) {
    lane.receive(token, previous_rank(), 6);
    lane.trigger();
    lane.wait();
  }
  lane.send(token, next_rank(), 6);
  Bytes back(token.size());
  if (first) lane.receive(back, previous_rank(), 6);
  lane.trigger();
  lane.finish();
  expect_message(first ? back : token, 0, 9);
}

TEST(Enqueued, Q9_PlainCallsKeepTheirPlaceAroundATrigger) {
  const int peer = partner();
  if (peer == rank()) return;
  EnqueueLane lane;
  for (unsigned round = 0; round < 50; ++round) {
    if (rank() % 2 == 0) {
      const Bytes first = message(40, rank(), 1), second = message(40, rank(), 2),
                  third = message(40, rank(), 3);
      MPI_Request request;
      lane.send(second, peer, 7, &request);
      MPI_Send(first.data(), 40, MPI_BYTE, peer, 7, MPI_COMM_WORLD);
      lane.trigger();
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Send(third.data(), 40, MPI_BYTE, peer, 7, MPI_COMM_WORLD);
      lane.finish();
    } else {
      for (unsigned i = 1; i <= 3; ++i) {
        Bytes in(40);
        MPI_Recv(in.data(), 40, MPI_BYTE, peer, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect_message(in, peer, i);
      }
    }
  }
}

TEST(Enqueued, Q10_TwoQueuesOfOneTagLoseNothing) {
  const int peer = partner();
  EnqueueLane one, other;
  const int count = 200;
  std::vector<int> out(2 * count), in(2 * count, -1);
  std::iota(out.begin(), out.end(), 0);
  const auto enqueue = [&](EnqueueLane& lane, int from) {
    for (int i = from; i < from + count; ++i) {
      EXPECT_PST(
          PST_Enqueue_send(&out[i], 1, MPI_INT, peer, 8, MPI_COMM_NULL, lane.queue(), nullptr));
      EXPECT_PST(
          PST_Enqueue_recv(&in[i], 1, MPI_INT, peer, 8, MPI_COMM_NULL, lane.queue(), nullptr));
      if (i % 3 == 0) lane.trigger();
    }
    lane.trigger();
  };
  enqueue(one, 0);
  enqueue(other, count);
  one.finish();
  other.finish();
  std::sort(in.begin(), in.end());
  EXPECT_EQ(in, out);
}

// A wait of one queue that comes before another's trigger in stream order puts them in order.
TEST(Enqueued, Q10_QueuesOfOneStreamAreInItsOrder) {
  const int peer = partner();
  EnqueueLane lane;
  PST_Queue second = PST_QUEUE_NULL;
  EXPECT_PST(PST_Queue_create(MPI_COMM_WORLD, lane.stream(), &second));
  const int a = 10 * rank(), b = 10 * rank() + 1;
  int in[2] = {-1, -1};
  EXPECT_PST(PST_Enqueue_recv(&in[0], 1, MPI_INT, peer, 9, MPI_COMM_NULL, lane.queue(), nullptr));
  EXPECT_PST(PST_Enqueue_send(&a, 1, MPI_INT, peer, 9, MPI_COMM_NULL, lane.queue(), nullptr));
  lane.trigger();
  lane.wait();
  EXPECT_PST(PST_Enqueue_send(&b, 1, MPI_INT, peer, 9, MPI_COMM_NULL, second, nullptr));
  EXPECT_PST(PST_Enqueue_recv(&in[1], 1, MPI_INT, peer, 9, MPI_COMM_NULL, second, nullptr));
  EXPECT_PST(PST_Enqueue_trigger(second));
  EXPECT_PST(PST_Queue_wait(second));
  lane.finish();
  EXPECT_EQ(in[0], 10 * peer);
  EXPECT_EQ(in[1], 10 * peer + 1);
  EXPECT_PST(PST_Queue_close(second));
}

TEST(Enqueued, Q12_ManyMessagesMayBeEnqueuedAhead) {
  const int peer = partner();
  EnqueueLane lane;
  const int count = long_run() ? 1000000 : fewer_rounds(100000, 4);
  std::vector<int> out(static_cast<std::size_t>(count)), in(out.size(), -1);
  std::iota(out.begin(), out.end(), rank());
  for (std::size_t i = 0; i < out.size(); ++i) {
    EXPECT_PST(
        PST_Enqueue_recv(&in[i], 1, MPI_INT, peer, 10, MPI_COMM_NULL, lane.queue(), nullptr));
    EXPECT_PST(
        PST_Enqueue_send(&out[i], 1, MPI_INT, peer, 10, MPI_COMM_NULL, lane.queue(), nullptr));
    if (i % 1000 == 999) lane.trigger();
  }
  lane.trigger();
  lane.finish();
  for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(in[i], static_cast<int>(i) + peer);
}

// All ranks exchange with all others, 200 times, without a host wait.
TEST(Enqueued, Q14_MoreRanksThanCoresComeToTheEnd) {
  EnqueueLane lane;
  const auto ranks = static_cast<std::size_t>(size());
  std::vector<Filled> out(ranks);
  std::vector<Checked> in(ranks);
  for (std::size_t i = 0; i < ranks; ++i) {
    out[i].bytes.resize(3000);
    in[i].bytes.resize(3000);
    in[i].from = static_cast<int>(i);
  }
  for (int round = 0; round < 200; ++round) {
    for (std::size_t i = 0; i < ranks; ++i) {
      lane.launch(Filled::next, &out[i]);
      lane.receive(in[i].bytes, static_cast<int>(i), 11);
      lane.send(out[i].bytes, static_cast<int>(i), 11);
    }
    lane.trigger();
    lane.wait();
    for (Checked& each : in) lane.launch(Checked::next, &each);
  }
  lane.finish();
  for (const Checked& each : in) EXPECT_EQ(each.wrong, "");
}

TEST(Enqueued, Q15_AnyCommunicatorServes) {
  if (size() < 2) return;
  MPI_Comm unknown, halves, inter;
  PMPI_Comm_dup(MPI_COMM_WORLD, &unknown);  // Penstock does not see its creation
  MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, rank(), &halves);
  MPI_Intercomm_create(halves, 0, MPI_COMM_WORLD, 1 - rank() % 2, 12, &inter);
  int others = 0, mine = 0;
  MPI_Comm_remote_size(inter, &others);
  MPI_Comm_rank(halves, &mine);
  for (const MPI_Comm comm : {unknown, inter}) {
    EnqueueLane lane(comm);
    const bool between = comm == inter;
    const int peers = between ? others : size();
    std::vector<int> in(static_cast<std::size_t>(peers), -1);
    const int out = 100 * rank() + 7;
    for (int i = 0; i < peers; ++i) {
      EXPECT_PST(PST_Enqueue_send(&out, 1, MPI_INT, i, 1, MPI_COMM_NULL, lane.queue(), nullptr));
      EXPECT_PST(PST_Enqueue_recv(&in[static_cast<std::size_t>(i)], 1, MPI_INT, i, 1, MPI_COMM_NULL,
                                  lane.queue(), nullptr));
    }
    EXPECT_PST_KIND(
        PST_Enqueue_send(&out, 1, MPI_INT, peers, 1, MPI_COMM_NULL, lane.queue(), nullptr),
        PST_ERROR_ARGUMENT);
    lane.trigger();
    lane.finish();
    for (int i = 0; i < peers; ++i) {
      const int world = between ? 2 * i + 1 - rank() % 2 : i;
      EXPECT_EQ(in[static_cast<std::size_t>(i)], 100 * world + 7);
    }
  }
  MPI_Comm_free(&inter);
  MPI_Comm_free(&halves);
  MPI_Comm_free(&unknown);
}

// A type with gaps, freed between the call and the trigger.
TEST(Enqueued, ATypeMayBeFreedAfterTheCall) {
  const int peer = partner();
  EnqueueLane lane;
  std::vector<int> out(64), in(64, -1);
  std::iota(out.begin(), out.end(), 1000 * rank());
  MPI_Datatype column;
  MPI_Type_vector(8, 1, 8, MPI_INT, &column);
  MPI_Type_commit(&column);
  EXPECT_PST(
      PST_Enqueue_send(out.data(), 1, column, peer, 1, MPI_COMM_NULL, lane.queue(), nullptr));
  EXPECT_PST(PST_Enqueue_recv(in.data(), 1, column, peer, 1, MPI_COMM_NULL, lane.queue(), nullptr));
  MPI_Type_free(&column);
  lane.trigger();
  lane.finish();
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(in[static_cast<std::size_t>(i)], i % 8 == 0 ? 1000 * peer + i : -1);
}

// Matched requests and enqueued messages share a queue, in the order of its stream.
TEST(Enqueued, MatchedRequestsShareTheQueue) {
  const int peer = partner();
  EnqueueLane lane;
  Filled out{Bytes(500)};
  Checked matched{Bytes(500), peer}, enqueued{Bytes(500), peer, 1};
  MPI_Request requests[2];
  MPI_Send_init(out.bytes.data(), 500, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &requests[0]);
  MPI_Recv_init(matched.bytes.data(), 500, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &requests[1]);
  EXPECT_PST(PST_Matchall(2, requests, MPI_STATUSES_IGNORE));
  lane.launch(Filled::next, &out);
  EXPECT_PST(PST_Enqueue_startall(lane.queue(), 2, requests));
  EXPECT_PST(PST_Enqueue_waitall(lane.queue(), 2, requests));
  lane.send(out.bytes, peer, 3);
  lane.receive(enqueued.bytes, peer, 3);
  lane.launch(Filled::next, &out);
  lane.trigger();
  lane.wait();
  lane.launch(Checked::next, &matched);
  lane.launch(Checked::next, &enqueued);
  lane.finish();
  EXPECT_EQ(matched.wrong + enqueued.wrong, "");
  for (MPI_Request& request : requests) MPI_Request_free(&request);
}

}  // namespace
}  // namespace penstock::test
