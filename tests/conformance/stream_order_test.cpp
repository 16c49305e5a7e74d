// SPDX-License-Identifier: Apache-2.0
// G1, G2, G3 and G5: what is ordered against the stream, and who waits for whom. Order is proven by
// points that all ranks pass together, never by time.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "conformance/one_way.hpp"
#include "support/pattern.hpp"
#include "support/rounds.hpp"

namespace penstock::test {
namespace {

constexpr int many = 50;

// Holds a stream until the host opens it.
struct Gate {
  std::atomic<bool> open = false;
  static void pass(void* gate) { static_cast<Gate*>(gate)->open.wait(false); }
  void release() {
    open = true;
    open.notify_all();
  }
};

TEST(StreamOrder, G1_EnqueueReturnsWhileThePeerHasEnqueuedNothing) {
  for_each_pair(protocol_sizes(), plain_kinds, [](const auto& options) {
    OneWay pair(options);
    const bool sender_first = options.bytes % 2 == 0;
    const auto send = [&pair] {
      for (int i = 0; i < many; ++i) {
        pair.start_send();
        pair.wait_send();
      }
    };
    const auto receive = [&pair] {
      for (int i = 0; i < many; ++i) {
        pair.start_receive();
        pair.wait_receive();
      }
    };
    if (sender_first) send();
    if (!sender_first) receive();
    meet();
    if (sender_first) receive();
    if (!sender_first) send();
    pair.finish_send();
    pair.finish_receive();
    pair.expect_good(many);
  });
}

TEST(StreamOrder, G1_EnqueueReturnsWhileTheStreamIsHeld) {
  for_each_pair({8, eager_max(), eager_max() + 1}, {Kind::standard, Kind::synchronous},
                [](const auto& options) {
                  OneWay pair(options);
                  Gate gate;
                  pair.send_lane().launch(Gate::pass, &gate);
                  pair.receive_lane().launch(Gate::pass, &gate);
                  for (int i = 0; i < many; ++i) {
                    pair.start_receive();
                    pair.wait_receive();
                    pair.start_send();
                    pair.wait_send();
                  }
                  int idle = 1;
                  EXPECT_PST(PST_Queue_test(pair.send_lane().queue(), &idle));
                  if (pair.sends()) {
                    EXPECT_EQ(idle, 0);
                  }
                  meet();
                  gate.release();
                  pair.finish_send();
                  pair.finish_receive();
                  EXPECT_PST(PST_Queue_test(pair.send_lane().queue(), &idle));
                  EXPECT_EQ(idle, 1);
                  pair.expect_good(many);
                });
}

TEST(StreamOrder, G2_StartOfASendNeverHoldsTheStream) {
  for_each_pair(protocol_sizes(), {Kind::standard, Kind::synchronous, Kind::buffered},
                [](const auto& options) {
                  OneWay pair(options);
                  Counter passed;
                  pair.start_send();
                  pair.send_lane().launch(Counter::raise, &passed);
                  pair.synchronize_send();
                  EXPECT_EQ(passed.count, 1);
                  meet();  // only now does the peer start its receive
                  pair.start_receive();
                  pair.wait_receive();
                  pair.wait_send();
                  pair.finish_send();
                  pair.finish_receive();
                  pair.expect_good(1);
                });
}

TEST(StreamOrder, G2_StartOfAReceiveNeverHoldsTheStream) {
  for_each_pair(protocol_sizes(), {Kind::standard, Kind::synchronous, Kind::buffered, Kind::ready},
                [](const auto& options) {
                  OneWay pair(options);
                  Counter passed;
                  pair.start_receive();
                  pair.receive_lane().launch(Counter::raise, &passed);
                  pair.synchronize_receive();
                  EXPECT_EQ(passed.count, 1);
                  meet();  // only now does the peer start its send
                  pair.start_send();
                  pair.wait_send();
                  pair.wait_receive();
                  pair.finish_send();
                  pair.finish_receive();
                  pair.expect_good(1);
                });
}

// The stream that a request leaves is held behind the request's own wait: what else it holds is
// nothing to the next start. `known`: the host has seen the wait end. Otherwise the request has
// changed streams before, and has not been waited for by the host since; on host streams it need
// not have.
void leave_a_held_stream(std::size_t bytes, bool known) {
  Sender sender(bytes, Memory::ordinary, 3);
  Receiver receiver(bytes, Memory::ordinary, 3);
  sender.init(Kind::standard, rank(), 0);
  receiver.init(rank(), 0);
  match_all({&sender.request(), &receiver.request()});
  Lane first, second;
  const auto exchange = [&](Lane& lane) {
    lane.start(receiver.request());
    lane.start(sender.request());
    lane.wait(receiver.request());
    lane.wait(sender.request());
  };
  first.launch(Sender::fill, &sender);
  first.launch(Receiver::clear, &receiver);
  exchange(first);
  if (!known && queue_type != PST_QUEUE_HOST) {
    exchange(second);
    exchange(first);
  }
  if (known) first.finish();
  Gate gate;
  first.launch(Gate::pass, &gate);
  exchange(second);
  second.launch(Receiver::check, &receiver);
  second.finish();  // stays here for ever if the start waits for the gate
  gate.release();
  first.finish();
  receiver.expect_good(1);
}

TEST(StreamOrder, G2_AStartOnAnotherStreamWaitsForItsOwnLastWaitAlone) {
  for (const std::size_t bytes : {std::size_t{8}, eager_max() + 1}) {
    for (const bool known : {true, false}) {
      SCOPED_TRACE(std::to_string(bytes) + (known ? " bytes, the wait has ended" : " bytes"));
      leave_a_held_stream(bytes, known);
    }
  }
}

TEST(StreamOrder, G3_MessageHoldsWhatTheStreamWroteBefore) {
  // The slow function stands before the one that writes the message, so a start that ran early
  // would send old bytes.
  for_each_pair(protocol_sizes(), plain_kinds, [](const auto& options) {
    OneWay pair(options);
    for (int i = 0; i < 5; ++i) {
      pair.start_receive();
      pair.wait_receive();
      if (pair.sends()) {
        enqueue_delay(pair.send_lane(), 100);
        pair.start_send();
        pair.wait_send();
      }
    }
    pair.finish_send();
    pair.finish_receive();
    pair.expect_good(5);
  });
}

TEST(StreamOrder, G3_WorkAfterAWaitRunsOnlyWithTheMessageThere) {
  for_each_pair(protocol_sizes(), plain_kinds, [](const auto& options) {
    OneWay pair(options);
    Counter after;
    pair.start_receive();
    if (pair.receives()) {
      pair.wait_receive();
      pair.receive_lane().launch(Counter::raise, &after);
    }
    meet();
    if (pair.receives()) {
      EXPECT_EQ(after.count, 0) << "the send has not been started";
    }
    meet();
    pair.start_send();
    pair.wait_send();
    // An event behind the wait: once the stream is synchronised the host may read the buffer.
    pair.synchronize_receive();
    if (pair.receives()) {
      EXPECT_EQ(after.count, 1);
    }
    pair.finish_send();
    pair.finish_receive();
    pair.expect_good(1);
  });
}

TEST(StreamOrder, G5_NothingIsDeliveredBeforeTheReceiveIsStarted) {
  for_each_pair(protocol_sizes(), {Kind::standard, Kind::synchronous, Kind::buffered},
                [](auto options) {
                  options.extra = 32;
                  OneWay pair(options);
                  constexpr int epochs = 4;
                  for (int epoch = 1; epoch <= epochs; ++epoch) {
                    if (pair.receives())
                      pair.receive_lane().launch(Receiver::clear, &pair.receiver());
                    pair.synchronize_receive();
                    meet();
                    pair.start_send();
                    pair.synchronize_send();
                    // In some epochs the sender is inside its wait, and may have ended it, while
                    // the receive has not been started.
                    if (epoch % 2 == 0) pair.wait_send();
                    meet();
                    if (pair.receives()) {
                      pair.receive_lane().launch(Receiver::check_clear, &pair.receiver());
                      pair.synchronize_receive();
                      pair.receive_lane().start(pair.receiver().request());
                    }
                    pair.wait_receive();
                    pair.finish_receive();
                    if (epoch % 2 == 1) pair.wait_send();
                    pair.finish_send();
                  }
                  pair.expect_good(epochs);
                });
}

TEST(StreamOrder, G5_SendBufferMayChangeOnceItsWaitIsOver) {
  // The sender overwrites its buffer as soon as the wait ends; the receiver starts late.
  for_each_pair(protocol_sizes(), {Kind::standard, Kind::buffered}, [](const auto& options) {
    OneWay pair(options);
    pair.start_send();
    pair.wait_send();  // scribbles
    meet();
    if (pair.receives()) enqueue_delay(pair.receive_lane(), 100);
    pair.start_receive();
    pair.wait_receive();
    pair.finish_receive();
    pair.finish_send();
    pair.expect_good(1);
  });
}

TEST(StreamOrder, QueueWaitCompletesWhatHasNoWait) {
  for_each_pair(protocol_sizes(), plain_kinds, [](const auto& options) {
    OneWay pair(options);
    pair.start_receive();
    pair.start_send();
    if (pair.sends() && pair.receives()) {
      pair.finish_send();  // both streams hold a start; each wait ends alone
      pair.finish_receive();
    } else {
      pair.finish_send();
      pair.finish_receive();
    }
    if (pair.receives()) pair.receive_lane().launch(Receiver::check, &pair.receiver());
    pair.synchronize_receive();
    pair.expect_good(1);
    // The wait that PST_Queue_wait enqueued counts: the requests can be started again.
    pair.start_receive();
    pair.start_send();
    pair.wait_send();
    pair.wait_receive();
    pair.finish_send();
    pair.finish_receive();
    pair.expect_good(2);
  });
}

// A mailbox that the application sleeps on, outside the library.
struct Mailbox {
  std::mutex mutex;
  std::condition_variable condition;
  int arrived = 0;
  static void post(void* mailbox) {
    auto& self = *static_cast<Mailbox*>(mailbox);
    std::lock_guard lock(self.mutex);
    ++self.arrived;
    self.condition.notify_one();
  }
  void await(int count) {
    std::unique_lock lock(mutex);
    condition.wait(lock, [&] { return arrived >= count; });
  }
};

TEST(StreamOrder, G4_ProgressWithTheApplicationAsleep) {
  const int epochs = fewer_rounds(size() > 2 ? 200 : 1000, 4);
  for_each_pair({8, eager_max(), eager_max() + 1}, plain_kinds, [epochs](const auto& options) {
    OneWay pair(options);
    Mailbox mailbox;
    for (int i = 0; i < epochs; ++i) {
      pair.start_receive();
      pair.wait_receive();
      pair.start_send();
      pair.wait_send();
    }
    pair.send_lane().launch(Mailbox::post, &mailbox);
    pair.receive_lane().launch(Mailbox::post, &mailbox);
    mailbox.await(2);
    pair.expect_good(static_cast<std::uint64_t>(epochs));
    pair.finish_send();
    pair.finish_receive();
  });
}

TEST(StreamOrder, SeveralQueuesShareAStream) {
  Stream stream = make_stream();
  PST_Queue queues[2] = {PST_QUEUE_NULL, PST_QUEUE_NULL};
  for (PST_Queue& queue : queues) ASSERT_PST(PST_Queue_init(&queue, queue_type, &stream));
  Sender sender(1000, Memory::ordinary, 9);
  Receiver receiver(1000, Memory::ordinary, 9);
  sender.init(Kind::standard, rank(), 0);
  receiver.init(rank(), 0);
  match_all({&sender.request(), &receiver.request()});
  for (int i = 0; i < 20; ++i) {
    launch(stream, Sender::fill, &sender);
    launch(stream, Receiver::clear, &receiver);
    EXPECT_PST(PST_Enqueue_start(queues[0], &sender.request()));
    EXPECT_PST(PST_Enqueue_start(queues[1], &receiver.request()));
    EXPECT_PST(PST_Enqueue_wait(queues[1], &receiver.request()));
    EXPECT_PST(PST_Enqueue_wait(queues[0], &sender.request()));
    launch(stream, Receiver::check, &receiver);
  }
  for (PST_Queue& queue : queues) {
    EXPECT_PST(PST_Queue_free(&queue));
    EXPECT_EQ(queue, PST_QUEUE_NULL);
  }
  free_stream(stream);
  receiver.expect_good(20);
}

}  // namespace
}  // namespace penstock::test
