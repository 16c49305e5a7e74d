// SPDX-License-Identifier: Apache-2.0
// The relay between the words that streams of GPUs write and the plans of a host transport: every
// epoch, in every order of the two sides, once; failures reach the words; an end in order and out
// of order. Threads stand for the streams: they touch the words as kernels do, and nothing else.
#include "relay/relay.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "support/rounds.hpp"
#include "unit/peer/two.hpp"
#include "unit/relay/half.hpp"

namespace penstock::relay {
namespace {

using base::ErrorKind;
using std::chrono::microseconds;
using std::chrono::milliseconds;

class RelayTest : public ::testing::Test {
 protected:
  void match(std::size_t bytes, protocol::Mode mode = protocol::Mode::standard) {
    from.assign(bytes, std::byte{0});
    to.assign(bytes, std::byte{0});
    auto [send, receive] =
        peer::match((*ends)[0], (*ends)[1], from.data(), bytes, to.data(), bytes, mode);
    sender.emplace(relays[0], std::move(send));
    receiver.emplace(relays[1], std::move(receive));
  }
  void fill(std::uint64_t epoch) {
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = peer::pattern(epoch, i);
  }
  std::size_t wrong(std::uint64_t epoch) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < to.size(); ++i) count += to[i] != peer::pattern(epoch, i);
    return count;
  }
  void send(std::uint64_t epoch) {
    fill(epoch);
    sender->start();
    ASSERT_TRUE(sender->wait());
  }
  void receive(std::uint64_t epoch) {
    receiver->start();
    ASSERT_TRUE(receiver->wait());
    ASSERT_EQ(wrong(epoch), 0u) << "epoch " << epoch;
  }
  void run(std::uint64_t first, std::uint64_t last) {
    std::thread other([&] {
      for (auto epoch = first; epoch <= last; ++epoch) send(epoch);
    });
    for (auto epoch = first; epoch <= last; ++epoch) receive(epoch);
    other.join();
  }

  std::unique_ptr<std::array<peer::End, 2>> ends = peer::introduce(base::Settings{});
  std::vector<std::byte> from, to;
  Relay relays[2]{Relay(microseconds(20)), Relay(microseconds(0))};  // one in each process
  std::optional<Half> sender, receiver;
};

TEST_F(RelayTest, EveryEpochArrivesOnce) {
  for (const protocol::Mode mode : {protocol::Mode::standard, protocol::Mode::synchronous})
    for (const std::size_t bytes : {0, 8, 57, 5000, 100001}) {
      SCOPED_TRACE(bytes);
      match(bytes, mode);
      constexpr std::uint64_t epochs = test::fewer_rounds(200, 4);
      for (std::uint64_t i = 0; i < epochs; ++i) {
        sender->enqueue();
        receiver->enqueue();
      }
      run(1, epochs);
      sender.reset();
      receiver.reset();
      if (HasFailure()) return;
    }
}

// A buffered send that has to ask its receiver for a buffer.
class LateStart final : public plan::HostPlan {
 public:
  explicit LateStart(std::atomic<bool>& may_start) : may_start_(may_start) {}
  transport::PairState pair_state(protocol::Epoch) const noexcept override {
    return transport::PairState::serves;
  }
  std::string describe() const override { return "a late start"; }
  std::string path() const override { return "test"; }

 private:
  std::optional<base::Error> run_start(bool& later) override {
    later = !may_start_;
    return std::nullopt;
  }
  bool run_wait() noexcept override { return true; }
  std::optional<base::Error> hopeless() override { return std::nullopt; }
  void run_close() noexcept override {}
  void run_poison() noexcept override {}

  std::atomic<bool>& may_start_;
};

// A message that its peer moves until the test says so.
class Moving final : public plan::HostPlan {
 public:
  struct Seen {
    std::atomic<bool> moves{true};
    std::atomic<int> closed{0}, given_up{0};
  };
  explicit Moving(Seen& seen) : seen_(seen) {}
  transport::PairState pair_state(protocol::Epoch) const noexcept override {
    return state_by(false);
  }
  std::string describe() const override { return "a message that moves"; }
  std::string path() const override { return "test"; }

 private:
  std::optional<base::Error> run_start(bool&) override { return std::nullopt; }
  bool run_wait() noexcept override { return false; }
  std::optional<base::Error> hopeless() override { return std::nullopt; }
  void run_close() noexcept override { ++seen_.closed; }
  void run_poison() noexcept override { ++seen_.given_up; }
  bool run_untouched() noexcept override { return !seen_.moves; }

  Seen& seen_;
};

// A wait on a queue that has failed returns at once: its request may be freed before the watchdog
// has looked.
TEST_F(RelayTest, WhatIsClosedWhileItsMessageMovesIsGivenUpFirst) {
  Moving::Seen seen;
  Half half(relays[0], std::make_unique<Moving>(seen));
  half.enqueue();
  half.start();
  std::atomic<bool> closed{false};
  half.close_in_order(closed);
  while (seen.given_up == 0) std::this_thread::yield();
  EXPECT_FALSE(closed);
  seen.moves = false;
  while (!closed) std::this_thread::yield();
  EXPECT_EQ(seen.given_up, 1);
  EXPECT_FALSE(half.wait());
}

TEST_F(RelayTest, AFailedQueueGivesUpWhatHasWorkAndLeavesTheRest) {
  Moving::Seen busy_seen, idle_seen;
  Half busy(relays[0], std::make_unique<Moving>(busy_seen));
  Half idle(relays[0], std::make_unique<Moving>(idle_seen));
  busy.enqueue();
  relays[0].give_up(busy.pair);
  relays[0].give_up(idle.pair);
  EXPECT_EQ(busy_seen.given_up, 1);
  EXPECT_EQ(idle_seen.given_up, 0);
  // The failed queue's wait lasts until all its pairs are.
  EXPECT_TRUE(idle.pair.untouched());
}

// The wait did not run, or left without it.
TEST_F(RelayTest, AMessageThatHasComeAndThatNoWaitTookIsWork) {
  match(8);
  sender->enqueue();
  receiver->enqueue();
  sender->start();
  receiver->start();
  ASSERT_TRUE(sender->wait());
  while (!receiver->has_come()) std::this_thread::yield();
  relays[0].give_up(sender->pair);
  EXPECT_FALSE(sender->pair.poisoned());
  relays[1].give_up(receiver->pair);
  EXPECT_TRUE(receiver->pair.poisoned());
  EXPECT_TRUE(receiver->pair.untouched());
}

// Nor a match, or whoever else takes the relay's lock: add() does.
TEST_F(RelayTest, AStartThatIsLeftForLaterHoldsUpNoOtherPair) {
  std::atomic<bool> may_start{false};
  Half late(relays[0], std::make_unique<LateStart>(may_start));
  late.enqueue();
  late.start();
  match(8);
  sender->enqueue(true);
  receiver->enqueue(true);
  run(1, 100);
  may_start = true;
  EXPECT_TRUE(late.wait());
}

// G4. The stream waits for the second message first; the relay must not wait for the first one
// itself.
TEST_F(RelayTest, WaitsInAnotherOrderThanStarts) {
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{100000}}) {
    std::vector<std::byte> out(bytes, std::byte{1}), in(bytes);
    match(bytes);
    auto [send, receive] = peer::match((*ends)[0], (*ends)[1], out.data(), bytes, in.data(), bytes);
    Half second_sender(relays[0], std::move(send)), second_receiver(relays[1], std::move(receive));
    for (int epoch = 1; epoch <= 50; ++epoch) {
      for (Half* half : {&*sender, &*receiver, &second_sender, &second_receiver}) half->enqueue();
      receiver->start();
      second_receiver.start();
      fill(static_cast<std::uint64_t>(epoch));
      sender->start();
      second_sender.start();
      EXPECT_TRUE(second_receiver.wait());
      EXPECT_TRUE(receiver->wait());
      EXPECT_TRUE(second_sender.wait());
      EXPECT_TRUE(sender->wait());
      EXPECT_EQ(wrong(static_cast<std::uint64_t>(epoch)), 0u);
      EXPECT_EQ(in, out);
    }
    sender.reset();
    receiver.reset();
  }
}

TEST_F(RelayTest, G8_ReplaysAreServedHoweverLateTheyCome) {
  match(3000);
  sender->enqueue(true);
  receiver->enqueue(true);
  run(1, 100);
  for (std::uint64_t epoch = 101; epoch <= 105; ++epoch) {
    // The relay comes to rest; a right one serves them all the same.
    std::this_thread::sleep_for(milliseconds(5));
    run(epoch, epoch);
  }
  sender->enqueue();  // and a direct start between them
  receiver->enqueue();
  run(106, 200);
}

TEST_F(RelayTest, AStartWakesARelayAtRest) {
  match(8);
  for (std::uint64_t epoch = 1; epoch <= 20; ++epoch) {
    std::this_thread::sleep_for(milliseconds(3));
    sender->enqueue();
    receiver->enqueue();
    run(epoch, epoch);
  }
}

TEST_F(RelayTest, APeerThatHasGoneEndsTheWait) {
  match(8);
  receiver->enqueue();
  receiver->start();
  sender.reset();
  EXPECT_FALSE(receiver->wait());
  EXPECT_EQ(receiver->pair.error().kind(), ErrorKind::peer_freed);
  EXPECT_TRUE(receiver->pair.untouched());
}

TEST_F(RelayTest, AProcessThatHasEndedEndsTheWait) {
  match(100000);
  receiver->enqueue();
  receiver->start();
  (*ends)[1].world.kill(0);
  EXPECT_FALSE(receiver->wait());
  EXPECT_EQ(receiver->pair.error().kind(), ErrorKind::peer_dead);
}

TEST_F(RelayTest, AHalfThatIsAbandonedTellsItsPeer) {
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{100000}}) {
    match(bytes);
    receiver->enqueue();
    receiver->start();
    relays[1].poison(receiver->pair);
    EXPECT_FALSE(receiver->wait());
    EXPECT_EQ(receiver->pair.error().kind(), ErrorKind::transport);
    sender->enqueue();
    sender->start();
    EXPECT_FALSE(sender->wait());
    EXPECT_EQ(sender->pair.error().kind(), ErrorKind::peer_freed);
    sender.reset();
    receiver.reset();
  }
}

TEST_F(RelayTest, ClosesInTheOrderOfTheStream) {
  match(8);
  for (Half* half : {&*sender, &*receiver}) half->enqueue();
  run(1, 1);
  std::atomic<bool> closed{false};
  sender->close_in_order(closed);
  while (!closed) std::this_thread::yield();
  receiver->enqueue();
  receiver->start();
  EXPECT_FALSE(receiver->wait());
  EXPECT_EQ(receiver->pair.error().kind(), ErrorKind::peer_freed);
}

TEST_F(RelayTest, StopsWhenWhatIsClosingHasBeenClosed) {
  std::atomic<bool> closed{false};
  match(8);
  sender->close_in_order(closed);
  relays[0].stop();
  EXPECT_TRUE(closed);
}

// A relay serves as many pairs as there are, whichever of them move.
TEST_F(RelayTest, ManyLanesOfWhichFewAreBusy) {
  constexpr std::size_t many = 300;
  std::vector<std::uint64_t> out(many), in(many);
  std::vector<std::unique_ptr<Half>> senders, receivers;
  for (std::size_t i = 0; i < many; ++i) {
    auto [send, receive] = peer::match((*ends)[0], (*ends)[1], &out[i], 8, &in[i], 8);
    senders.push_back(std::make_unique<Half>(relays[0], std::move(send)));
    receivers.push_back(std::make_unique<Half>(relays[1], std::move(receive)));
  }
  for (std::size_t round = 1; round <= 50; ++round) {
    for (std::size_t i = round; i < many; i += 37) {
      out[i] = round * many + i;
      for (Half* half : {senders[i].get(), receivers[i].get()}) {
        half->enqueue();
        half->start();
      }
    }
    for (std::size_t i = round; i < many; i += 37) {
      ASSERT_TRUE(senders[i]->wait());
      ASSERT_TRUE(receivers[i]->wait());
      ASSERT_EQ(in[i], round * many + i);
    }
  }
}

}  // namespace
}  // namespace penstock::relay
