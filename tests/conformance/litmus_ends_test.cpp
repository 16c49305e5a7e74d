// SPDX-License-Identifier: Apache-2.0
// The litmus programs that need a point in time: a side that ends alone, runs ahead, changes its
// queue, frees its half, talks to itself.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>

#include "conformance/one_way.hpp"
#include "support/rounds.hpp"

namespace penstock::test {
namespace {

const std::vector<Kind> local_kinds{Kind::standard, Kind::synchronous, Kind::buffered};

TEST(LitmusEnds, G4_L11_SendersWaitEndsAlone) {
  for_each_pair(protocol_sizes(), {Kind::standard, Kind::synchronous, Kind::buffered, Kind::ready},
                [](const auto& options) {
                  OneWay pair(options);
                  const bool sender_first = options.kind != Kind::ready && options.bytes % 2 == 0;
                  if (sender_first) {
                    pair.start_send();
                    pair.synchronize_send();
                    meet();
                  }
                  pair.start_receive();
                  pair.synchronize_receive();
                  meet();
                  if (!sender_first) pair.start_send();
                  pair.wait_send();
                  pair.finish_send();
                  meet();
                  pair.wait_receive();
                  pair.finish_receive();
                  pair.expect_good(1);
                });
}

TEST(LitmusEnds, G4_L11_ReceiversWaitEndsAlone) {
  for_each_pair(protocol_sizes(), local_kinds, [](const auto& options) {
    OneWay pair(options);
    const bool receiver_first = options.bytes % 2 == 0;
    if (receiver_first) {
      pair.start_receive();
      pair.synchronize_receive();
      meet();
    }
    pair.start_send();
    pair.synchronize_send();
    meet();
    if (!receiver_first) pair.start_receive();
    pair.wait_receive();
    pair.finish_receive();
    pair.expect_good(1);
    meet();
    pair.wait_send();
    pair.finish_send();
  });
}

// How far a sender may get while no receive has been started. Standard sends may be buffered, in
// SLOTS places of the library.
int most_ahead(const OneWay::Options& options, bool peer_transport, int otherwise) {
  if (options.kind == Kind::synchronous) return 0;
  return peer_transport ? static_cast<int>(slots()) - 1 + most_early_waits : otherwise;
}

TEST(LitmusEnds, G5_L12_RunAheadStopsAndLosesNothing) {
  constexpr int count = 40;
  for_each_pair({8, eager_max(), eager_max() + 1, 100000}, {Kind::standard, Kind::synchronous},
                [](const auto& options) {
                  OneWay pair(options);
                  Counter complete;
                  if (pair.sends()) {
                    for (int i = 0; i < count; ++i) {
                      pair.start_send();
                      pair.wait_send();
                      pair.send_lane().launch(Counter::raise, &complete);
                    }
                    // Gives a sender that would run too far the time to do so; a right one passes
                    // at any speed.
                    std::this_thread::sleep_for(std::chrono::milliseconds(2));
                    EXPECT_LE(complete.count.load(),
                              most_ahead(options, pair.on_peer_transport(), count));
                  }
                  meet();
                  for (int i = 0; i < count; ++i) {
                    pair.start_receive();
                    pair.wait_receive();
                  }
                  pair.finish_receive();
                  pair.finish_send();
                  pair.expect_good(count);
                });
}

TEST(LitmusEnds, G7_L13_NextEpochOnAnotherQueue) {
  for_each_pair(protocol_sizes(), {Kind::standard, Kind::synchronous}, [](const auto& options) {
    OneWay pair(options);
    Lane other;
    constexpr int rounds = 20;
    // Three epochs with the same contents, the middle one on the other queue: what follows on the
    // first queue is then ordered behind all three, by nothing but the library's own order of the
    // epochs.
    for (int round = 0; round < rounds; ++round) {
      if (pair.sends()) {
        Lane& lane = pair.send_lane();
        lane.launch(Sender::fill, &pair.sender());
        for (Lane* each : {&lane, &other, &lane}) {
          each->start(pair.sender().request());
          each->wait(pair.sender().request());
        }
      }
    }
    Lane another;
    for (int round = 0; round < rounds; ++round) {
      if (pair.receives()) {
        Lane& lane = pair.receive_lane();
        lane.launch(Receiver::clear, &pair.receiver());
        for (Lane* each : {&lane, &another, &lane}) {
          each->start(pair.receiver().request());
          each->wait(pair.receiver().request());
        }
        lane.launch(Receiver::check, &pair.receiver());
      }
    }
    pair.finish_send();
    other.finish();
    pair.finish_receive();
    another.finish();
    pair.expect_good(rounds);
  });
}

// An end whose epochs hop between two queues; each function enqueues the next epoch on the other
// queue, from the worker.
struct Hopper {
  OneWay* pair;
  Lane* lanes[2];
  bool sending;
  int left;
  std::atomic<bool> done = false;

  static void hop(void* hopper) {
    auto& self = *static_cast<Hopper*>(hopper);
    if (self.left-- == 0) {
      self.done = true;
      self.done.notify_all();
      return;
    }
    Lane& lane = *self.lanes[self.left % 2];
    if (self.sending) {
      self.pair->sender().enqueue_start(lane);
      self.pair->sender().enqueue_wait(lane);
    } else {
      self.pair->receiver().enqueue_start(lane);
      self.pair->receiver().enqueue_wait(lane);
    }
    lane.launch(hop, hopper);
  }
};

TEST(LitmusEnds, G7_L13_FunctionsEnqueueTheNextEpochOnAnotherQueue) {
  for_each_pair({8, eager_max() + 1}, {Kind::standard, Kind::synchronous}, [](const auto& options) {
    OneWay pair(options);
    Lane other_send, other_receive;
    constexpr int epochs = 200;
    Hopper sending{&pair, {&pair.send_lane(), &other_send}, true, epochs};
    Hopper receiving{&pair, {&pair.receive_lane(), &other_receive}, false, epochs};
    if (pair.sends()) pair.send_lane().launch(Hopper::hop, &sending);
    if (pair.receives()) pair.receive_lane().launch(Hopper::hop, &receiving);
    if (pair.sends()) sending.done.wait(false);
    if (pair.receives()) receiving.done.wait(false);
    pair.expect_good(epochs);
  });
}

// Objects of a pair that outlive it, since the stream may still use the buffers of freed requests.
struct Ends {
  std::vector<std::unique_ptr<Sender>> senders;
  std::vector<std::unique_ptr<Receiver>> receivers;
  Lane send_lane, receive_lane;

  void add(std::size_t bytes, Kind kind) {
    const int self = rank(), peer = partner();
    std::vector<MPI_Request*> requests;
    if (self % 2 == 0) {
      senders.push_back(
          std::make_unique<Sender>(bytes, Memory::ordinary, sequence_key(self, peer, 0)));
      senders.back()->init(kind, peer, 0);
      requests.push_back(&senders.back()->request());
    }
    if (self % 2 == 1 || peer == self) {
      receivers.push_back(
          std::make_unique<Receiver>(bytes, Memory::ordinary, sequence_key(peer, self, 0)));
      receivers.back()->init(peer, 0);
      requests.push_back(&receivers.back()->request());
    }
    match_all(requests);
  }
  // The lanes are destroyed first, and complete everything.
  ~Ends() {
    send_lane.finish();
    receive_lane.finish();
  }
};

TEST(LitmusEnds, L18_SenderFreesAndMatchesAgainBeforeTheReceiversWait) {
  const int rounds = long_run() ? 500 : 30;
  for (const std::size_t bytes :
       {std::size_t{8}, std::size_t{1000}, eager_max(), eager_max() + 1}) {
    SCOPED_TRACE(bytes);
    Ends ends;
    ends.add(bytes, Kind::standard);
    for (int round = 0; round < rounds; ++round) {
      const auto i = static_cast<std::size_t>(round);
      if (!ends.receivers.empty()) {
        ends.receivers[i]->enqueue_start(ends.receive_lane);
        ends.receive_lane.synchronize();
      }
      meet();
      if (!ends.senders.empty()) {
        ends.senders[i]->enqueue_start(ends.send_lane);
        ends.senders[i]->enqueue_wait(ends.send_lane);
        if (round % 2 == 0) ends.send_lane.finish();
        ends.senders[i]->free();
      }
      ends.add(bytes, Kind::standard);  // the receiver is still before its wait for the first
      if (!ends.receivers.empty()) {
        ends.receivers[i]->enqueue_wait(ends.receive_lane);
        if (round % 3 == 0) ends.receive_lane.finish();
        ends.receivers[i]->free();
      }
    }
    ends.send_lane.finish();
    ends.receive_lane.finish();
    for (std::size_t i = 0; i + 1 < ends.receivers.size(); ++i) ends.receivers[i]->expect_good(1);
  }
}

TEST(LitmusEnds, L18_ReceiverFreesAndMatchesAgainBeforeTheSendersWait) {
  for (const std::size_t bytes :
       {std::size_t{8}, std::size_t{1000}, eager_max(), eager_max() + 1}) {
    for (const Kind kind : {Kind::standard, Kind::synchronous}) {
      SCOPED_TRACE(bytes);
      Ends ends;
      ends.add(bytes, kind);
      for (std::size_t i = 0; i < 20; ++i) {
        if (!ends.senders.empty()) {
          ends.senders[i]->enqueue_start(ends.send_lane);
          ends.send_lane.synchronize();
        }
        meet();
        if (!ends.receivers.empty()) {
          ends.receivers[i]->enqueue_start(ends.receive_lane);
          ends.receivers[i]->enqueue_wait(ends.receive_lane);
          ends.receive_lane.finish();
          ends.receivers[i]->free();
        }
        ends.add(bytes, kind);
        if (!ends.senders.empty()) {
          ends.senders[i]->enqueue_wait(ends.send_lane);
          ends.senders[i]->free();
        }
      }
      ends.send_lane.finish();
      for (std::size_t i = 0; i + 1 < ends.receivers.size(); ++i) ends.receivers[i]->expect_good(1);
    }
  }
}

TEST(LitmusEnds, L19_RankToItselfOnOneStream) {
  for (const Kind kind : {Kind::standard, Kind::synchronous, Kind::buffered, Kind::ready}) {
    if (!served(kind)) continue;
    for (const std::size_t bytes : protocol_sizes()) {
      SCOPED_TRACE(std::string(name(kind)) + " " + std::to_string(bytes));
      Sender sender(bytes, Memory::ordinary, 1);
      Receiver receiver(bytes, Memory::allocated, 1, 0, 10);
      sender.init(kind, rank(), 3);
      receiver.init(rank(), 3);
      match_all({&receiver.request(), &sender.request()});
      Lane lane;
      constexpr int repeats = 12;
      for (int i = 0; i < repeats; ++i) {
        const bool receive_first = i % 2 == 0 || kind == Kind::ready;
        if (receive_first) receiver.enqueue_start(lane);
        sender.enqueue_start(lane);
        if (!receive_first) receiver.enqueue_start(lane);
        if (i % 3 == 0) {
          EXPECT_PST(PST_Enqueue_wait_outstanding(lane.queue()));
          lane.launch(Receiver::check, &receiver);
        } else if (i % 3 == 1) {
          sender.enqueue_wait(lane);
          receiver.enqueue_wait(lane);
        } else {
          receiver.enqueue_wait(lane);
          sender.enqueue_wait(lane);
        }
      }
      lane.finish();
      receiver.expect_good(repeats);
    }
  }
}

TEST(LitmusEnds, L19_RankToItselfOnTwoStreams) {
  for (const Kind kind : {Kind::standard, Kind::synchronous}) {
    for (const std::size_t bytes : {std::size_t{8}, eager_max() + 1, std::size_t{100000}}) {
      const Shape shape{.bytes = bytes, .repeats = 20};
      run_program({"L1 self", "s1 w1 s2 w2", "r1 r2 w2 w1", kind}, shape, rank());
      run_program({"L2 self", "s1 r2 w2 w1", "r1 w1 s2 w2", kind}, shape, rank());
      run_program({"L3 self", "s1 r2 w*", "s2 r1 w*", kind}, shape, rank());
    }
  }
}

TEST(LitmusEnds, G4_L20_RingOfAllProcesses) {
  const int self = rank(), count = size();
  const int right = (self + 1) % count, left = (self + count - 1) % count;
  for (const Kind kind : {Kind::standard, Kind::synchronous}) {
    for (const std::size_t bytes : protocol_sizes()) {
      SCOPED_TRACE(std::string(name(kind)) + " " + std::to_string(bytes));
      Sender sender(bytes, Memory::allocated, sequence_key(self, right, 0));
      Receiver receiver(bytes, Memory::ordinary, sequence_key(left, self, 0));
      sender.init(kind, right, 0);
      receiver.init(left, 0);
      match_all({&sender.request(), &receiver.request()});
      Lane lane;
      const int repeats = fewer_rounds(count > 2 ? 10 : 30, 3);
      for (int i = 0; i < repeats; ++i) {
        if (self == i % count) {
          sender.enqueue_start(lane);
          receiver.enqueue_start(lane);
          receiver.enqueue_wait(lane);
          sender.enqueue_wait(lane);
        } else {
          receiver.enqueue_start(lane);
          receiver.enqueue_wait(lane);
          sender.enqueue_start(lane);
          sender.enqueue_wait(lane);
        }
      }
      lane.finish();
      receiver.expect_good(static_cast<std::uint64_t>(repeats));
    }
  }
}

// A call that started one and waited for it before it starts the next would stand on both ranks: a
// synchronous send ends with its receive.
TEST(LitmusEnds, G4_L23_ARunStartsAllBeforeItWaits) {
  constexpr std::uint64_t epochs = 20;
  const int self = rank(), peer = partner();
  for (const Kind kind : {Kind::standard, Kind::synchronous})
    for (const std::size_t bytes : protocol_sizes()) {
      SCOPED_TRACE(std::string(name(kind)) + " " + std::to_string(bytes));
      Sender sender(bytes, Memory::ordinary, sequence_key(self, peer, 0));
      Receiver receiver(bytes, Memory::allocated, sequence_key(peer, self, 0));
      sender.init(kind, peer, 0);
      receiver.init(peer, 0);
      match_all({&sender.request(), &receiver.request()});
      Lane lane;
      for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
        std::array<MPI_Request, 2> both{sender.request(), receiver.request()};
        if (epoch % 2 != 0) std::swap(both[0], both[1]);
        lane.launch(Sender::fill, &sender);
        lane.launch(Receiver::clear, &receiver);
        ASSERT_PST(PST_Enqueue_runall(lane.queue(), 2, both.data()));
        lane.launch(Sender::scribble, &sender);
        lane.launch(Receiver::check, &receiver);
      }
      lane.finish();
      receiver.expect_good(epochs);
    }
}

// Messages of MPI that its sender has begun, and that need its calls: more than MPI takes at once.
// `end` ends the send, while the messages before it are under way.
template <class End>
void send_behind_messages_of_mpi(End end) {
  constexpr int count = 2000;
  constexpr std::size_t longest = 1 << 20;
  const int peer = partner();
  OneWay pair({.bytes = 100, .kind = Kind::synchronous});
  std::vector<std::byte> bytes(longest);
  const auto length = [](int i) { return i + 1 == count ? static_cast<int>(longest) : i; };
  if (pair.sends()) {
    std::vector<MPI_Request> messages(count);
    for (int i = 0; i < count; ++i)
      MPI_Isend(bytes.data(), length(i), MPI_BYTE, peer, 1, MPI_COMM_WORLD, &messages[i]);
    pair.start_send();
    pair.wait_send();
    end(pair);
    MPI_Waitall(count, messages.data(), MPI_STATUSES_IGNORE);
  } else {
    for (int i = 0; i < count; ++i)
      MPI_Recv(bytes.data(), length(i), MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    pair.start_receive();
    pair.wait_receive();
    pair.finish_receive();
  }
  pair.expect_good(1);
}

TEST(LitmusEnds, G4_L22_MessagesOfMpiMoveWhileAQueueIsWaitedFor) {
  if (partner() == rank()) GTEST_SKIP() << "needs a peer";
  send_behind_messages_of_mpi([](OneWay& pair) { pair.finish_send(); });
}

TEST(LitmusEnds, G4_L22_MessagesOfMpiMoveWhileAQueueIsTested) {
  if (partner() == rank()) GTEST_SKIP() << "needs a peer";
  send_behind_messages_of_mpi([](OneWay& pair) {
    for (int done = 0; done == 0;) ASSERT_EQ(PST_Queue_test(pair.send_lane().queue(), &done), 0);
    pair.finish_send();
  });
}

TEST(LitmusEnds, L20_ManyQueues) {
  // Those of a GPU share it, and wait for each other's places.
  const int count = queue_type != PST_QUEUE_HOST ? 32 : fewer_rounds(size() > 2 ? 50 : 200, 4);
  std::vector<std::unique_ptr<Side>> sides;
  std::vector<MPI_Request*> requests;
  const Program program{"L20", "s1 r2 w2 w1", "r1 w1 s2 w2"};
  const int self = rank(), peer = partner();
  for (int i = 0; i < count; ++i) {
    const Shape shape{.bytes = i % 2 == 0 ? std::size_t{8} : eager_max() + 1, .repeats = 5};
    if (peer >= self)
      sides.push_back(std::make_unique<Side>(program, shape, true, self, peer, 10 * i));
    if (peer <= self)
      sides.push_back(std::make_unique<Side>(program, shape, false, self, peer, 10 * i));
  }
  for (auto& side : sides) {
    for (MPI_Request* request : side->requests()) requests.push_back(request);
  }
  match_all(requests);
  for (auto& side : sides) side->enqueue();
  for (auto& side : sides) side->finish();
}

}  // namespace
}  // namespace penstock::test
