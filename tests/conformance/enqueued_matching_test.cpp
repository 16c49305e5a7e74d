// SPDX-License-Identifier: Apache-2.0
// Enqueued messages and every other call of MPI at the other end: who meets whom.
#include <functional>
#include <map>
#include <string>

#include "conformance/enqueued.hpp"

namespace penstock::test {
namespace {

// What the other end may do, for a message of rank 0 to rank 1.
using PlainReceive = std::function<MPI_Status(Bytes&, int from, int tag)>;
using PlainSend = std::function<void(const Bytes&, int to, int tag)>;

std::map<std::string, PlainReceive> plain_receives() {
  const auto count = [](const Bytes& bytes) { return static_cast<int>(bytes.size()); };
  std::map<std::string, PlainReceive> all;
  all["Recv"] = [=](Bytes& into, int from, int tag) {
    MPI_Status status;
    MPI_Recv(into.data(), count(into), MPI_BYTE, from, tag, MPI_COMM_WORLD, &status);
    return status;
  };
  all["Irecv"] = [=](Bytes& into, int from, int tag) {
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(into.data(), count(into), MPI_BYTE, from, tag, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    return status;
  };
  all["wildcards"] = [=](Bytes& into, int, int) {
    MPI_Status status;
    MPI_Recv(into.data(), count(into), MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
             &status);
    return status;
  };
  all["Probe"] = [=](Bytes& into, int from, int) {
    MPI_Status probed, status;
    MPI_Probe(from, MPI_ANY_TAG, MPI_COMM_WORLD, &probed);
    MPI_Recv(into.data(), count(into), MPI_BYTE, probed.MPI_SOURCE, probed.MPI_TAG, MPI_COMM_WORLD,
             &status);
    return status;
  };
  all["Mprobe"] = [=](Bytes& into, int from, int tag) {
    MPI_Message found;
    MPI_Status status;
    MPI_Mprobe(from, tag, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    MPI_Mrecv(into.data(), count(into), MPI_BYTE, &found, &status);
    return status;
  };
  all["persistent"] = [=](Bytes& into, int from, int tag) {
    MPI_Request request;
    MPI_Status status;
    MPI_Recv_init(into.data(), count(into), MPI_BYTE, from, tag, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    MPI_Wait(&request, &status);
    MPI_Request_free(&request);
    return status;
  };
  all["Sendrecv"] = [=](Bytes& into, int from, int tag) {
    MPI_Status status;
    MPI_Sendrecv(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, into.data(), count(into), MPI_BYTE, from,
                 tag, MPI_COMM_WORLD, &status);
    return status;
  };
  return all;
}

std::map<std::string, PlainSend> plain_sends() {
  const auto count = [](const Bytes& bytes) { return static_cast<int>(bytes.size()); };
  std::map<std::string, PlainSend> all;
  all["Send"] = [=](const Bytes& from, int to, int tag) {
    MPI_Send(from.data(), count(from), MPI_BYTE, to, tag, MPI_COMM_WORLD);
  };
  all["Ssend"] = [=](const Bytes& from, int to, int tag) {
    MPI_Ssend(from.data(), count(from), MPI_BYTE, to, tag, MPI_COMM_WORLD);
  };
  all["Isend"] = [=](const Bytes& from, int to, int tag) {
    MPI_Request request;
    MPI_Isend(from.data(), count(from), MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  };
  all["persistent"] = [=](const Bytes& from, int to, int tag) {
    MPI_Request request;
    MPI_Send_init(from.data(), count(from), MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  };
  all["Sendrecv"] = [=](const Bytes& from, int to, int tag) {
    MPI_Sendrecv(from.data(), count(from), MPI_BYTE, to, tag, nullptr, 0, MPI_BYTE, MPI_PROC_NULL,
                 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  };
  return all;
}

TEST(Enqueued, Q2_AnEnqueuedSendMeetsAnyReceiveOfMpi) {
  const int peer = partner();
  if (peer == rank()) return;
  EnqueueLane lane;
  std::uint64_t number = 0;
  for (const auto& [name, receive] : plain_receives()) {
    for (const std::size_t bytes : enqueued_sizes()) {
      SCOPED_TRACE(name + ", " + std::to_string(bytes) + " bytes");
      ++number;
      if (rank() % 2 == 0) {
        const Bytes out = message(bytes, rank(), number);
        MPI_Request request;
        lane.send(out, peer, 17, &request);
        lane.trigger();
        lane.wait();
        EXPECT_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        lane.finish();
      } else {
        Bytes in(bytes);
        expect_status(receive(in, peer, 17), peer, 17, bytes);
        expect_message(in, peer, number);
      }
    }
  }
}

TEST(Enqueued, Q2_AnEnqueuedReceiveMeetsAnySendOfMpi) {
  const int peer = partner();
  if (peer == rank()) return;
  EnqueueLane lane;
  std::uint64_t number = 0;
  for (const auto& [name, send] : plain_sends()) {
    for (const std::size_t bytes : enqueued_sizes()) {
      SCOPED_TRACE(name + ", " + std::to_string(bytes) + " bytes");
      ++number;
      if (rank() % 2 == 0) {
        send(message(bytes, rank(), number), peer, 18);
      } else {
        Bytes in(bytes);
        MPI_Request request;
        MPI_Status status;
        lane.receive(in, peer, 18, &request);
        lane.trigger();
        lane.wait();
        EXPECT_EQ(MPI_Wait(&request, &status), MPI_SUCCESS);
        expect_status(status, peer, 18, bytes);
        expect_message(in, peer, number);
        lane.finish();
      }
    }
  }
}

// Programs in which a pairing of enqueued calls alone would go wrong: the table of docs/queue.md.
class EnqueuedMatching : public ::testing::Test {
 protected:
  static constexpr std::size_t bytes = 48;
  // Runs `sender` on even ranks and `receiver` on odd ones, again and again.
  template <class Send, class Receive>
  void run(Send sender, Receive receiver) {
    const int peer = partner();
    if (peer == rank()) return;
    EnqueueLane lane;
    for (int round = 0; round < rounds() && !HasFailure(); ++round) {
      if (rank() % 2 == 0)
        sender(lane, peer);
      else
        receiver(lane, peer);
      lane.wait();
      lane.finish();
    }
  }
  static int rounds() { return long_run() ? 1000 : 60; }
};

TEST_F(EnqueuedMatching, Q3_M1_OneMoreEnqueuedSendMeetsAPlainReceive) {
  run(
      [](EnqueueLane& lane, int peer) {
        std::vector<Bytes> out;
        for (unsigned i = 0; i < 4; ++i) out.push_back(message(bytes, rank(), i));
        for (const Bytes& each : out) lane.send(each, peer, 1);
        lane.trigger();
        lane.wait();
        lane.finish();
      },
      [](EnqueueLane& lane, int peer) {
        std::vector<Bytes> in(4, Bytes(bytes));
        for (unsigned i = 0; i < 3; ++i) lane.receive(in[i], peer, 1);
        lane.trigger();
        lane.finish();
        MPI_Request request;
        MPI_Irecv(in[3].data(), bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (unsigned i = 0; i < 4; ++i) expect_message(in[i], peer, i);
      });
}

TEST_F(EnqueuedMatching, Q3_M2_APrepostedPlainReceiveTakesTheFirst) {
  run(
      [](EnqueueLane& lane, int peer) {
        const Bytes first = message(bytes, rank(), 1), second = message(bytes, rank(), 2);
        MPI_Recv(nullptr, 0, MPI_BYTE, peer, 90, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        lane.send(first, peer, 2);
        lane.send(second, peer, 2);
        lane.trigger();
        lane.finish();
      },
      [](EnqueueLane& lane, int peer) {
        Bytes first(bytes), second(bytes);
        MPI_Request request;
        MPI_Irecv(first.data(), bytes, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &request);
        MPI_Send(nullptr, 0, MPI_BYTE, peer, 90, MPI_COMM_WORLD);
        lane.receive(second, peer, 2);
        lane.trigger();
        lane.finish();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect_message(first, peer, 1);
        expect_message(second, peer, 2);
      });
}

TEST_F(EnqueuedMatching, Q3_M3_APlainSendBeforeAnEnqueuedOneIsFirst) {
  run(
      [](EnqueueLane& lane, int peer) {
        const Bytes first = message(bytes, rank(), 1), second = message(bytes, rank(), 2);
        MPI_Request request;
        MPI_Isend(first.data(), bytes, MPI_BYTE, peer, 3, MPI_COMM_WORLD, &request);
        lane.send(second, peer, 3);
        lane.trigger();
        lane.finish();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
      },
      [](EnqueueLane& lane, int peer) {
        Bytes first(bytes), second(bytes);
        lane.receive(first, peer, 3);
        lane.receive(second, peer, 3);
        lane.trigger();
        lane.finish();
        expect_message(first, peer, 1);
        expect_message(second, peer, 2);
      });
}

TEST_F(EnqueuedMatching, Q3_M4_AWildcardThatIsFirstIsServedFirst) {
  run(
      [](EnqueueLane& lane, int peer) {
        const Bytes first = message(bytes, rank(), 1), second = message(bytes, rank(), 2);
        MPI_Recv(nullptr, 0, MPI_BYTE, peer, 90, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        lane.send(first, peer, 4);
        lane.trigger();
        lane.send(second, peer, 4);
        lane.trigger();
        lane.finish();
      },
      [](EnqueueLane& lane, int peer) {
        Bytes any(bytes), named(bytes);
        MPI_Request request;
        MPI_Irecv(any.data(), bytes, MPI_BYTE, peer, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
        MPI_Send(nullptr, 0, MPI_BYTE, peer, 90, MPI_COMM_WORLD);
        lane.receive(named, peer, 4);
        lane.trigger();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        expect_message(any, peer, 1);
        lane.finish();
        expect_message(named, peer, 2);
      });
}

TEST_F(EnqueuedMatching, Q3_M5_AProbeSeesAnEnqueuedSend) {
  run(
      [](EnqueueLane& lane, int peer) {
        const Bytes out = message(bytes, rank(), 5);
        lane.send(out, peer, 5);
        lane.trigger();
        lane.finish();
      },
      [](EnqueueLane&, int peer) {
        MPI_Status status;
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        EXPECT_EQ(status.MPI_SOURCE, peer);
        EXPECT_EQ(status.MPI_TAG, 5);
        Bytes in(bytes);
        MPI_Recv(in.data(), bytes, MPI_BYTE, peer, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect_message(in, peer, 5);
      });
}

TEST_F(EnqueuedMatching, Q3_M6_SizesAreNoPartOfTheMatch) {
  run(
      [](EnqueueLane& lane, int peer) {
        const Bytes small = message(8, rank(), 1), large = message(80, rank(), 2);
        lane.send(small, peer, 6);
        lane.send(large, peer, 6);
        lane.trigger();
        lane.finish();
      },
      [](EnqueueLane& lane, int peer) {
        Bytes first(80), second(80);
        MPI_Request requests[2];
        MPI_Status statuses[2];
        lane.receive(first, peer, 6, &requests[0]);
        lane.receive(second, peer, 6, &requests[1]);
        lane.trigger();
        lane.finish();
        EXPECT_EQ(MPI_Waitall(2, requests, statuses), MPI_SUCCESS);
        expect_status(statuses[0], peer, 6, 8);
        expect_status(statuses[1], peer, 6, 80);
        first.resize(8);
        expect_message(first, peer, 1);
        expect_message(second, peer, 2);
      });
}

}  // namespace
}  // namespace penstock::test
