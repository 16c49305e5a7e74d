// SPDX-License-Identifier: Apache-2.0
// Both ends of the shipped host form as threads of one process, compiled with ThreadSanitizer: the
// litmus programs with random delays, wrap-around with 3-bit flags, and many epochs.
// PENSTOCK_TEST_SEED repeats a run, PENSTOCK_TEST_LONG=1 lengthens it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <random>
#include <thread>

#include "protocol/explorer/kinds.hpp"
#include "protocol/threads/release.hpp"

static_assert(PENSTOCK_FLAG_BITS == 3, "these tests wrap the flags around");

namespace penstock::threads {
namespace {

using explorer::rendezvous;
using explorer::ring;

bool long_run() {
  const char* value = std::getenv("PENSTOCK_TEST_LONG");
  return value != nullptr && std::string(value) == "1";
}

std::uint64_t base_seed() {
  static const std::uint64_t seed = [] {
    const char* value = std::getenv("PENSTOCK_TEST_SEED");
    const std::uint64_t chosen =
        value != nullptr ? std::strtoull(value, nullptr, 10) : std::random_device{}() % 1000000;
    std::cout << "PENSTOCK_TEST_SEED=" << chosen << '\n';
    return chosen;
  }();
  return seed;
}

class Threads : public ::testing::TestWithParam<PairSpec> {
 protected:
  const PairSpec kind = GetParam();
  const PairSpec other = kind.path == Path::ring ? rendezvous() : ring();

  void expect_ends(const std::vector<PairSpec>& pairs, const std::vector<std::string>& programs,
                   unsigned repeats = 20) {
    for (const Form& form : {Form{0, 64}, Form{56, 64}, Form{200, 64}, Form{200, 64, true},
                             Form{0, 256}, Form{56, 256}, Form{200, 256}, Form{200, 256, true}}) {
      Setting setting{form, long_run() ? 20 * repeats : repeats, base_seed() + form.bytes};
      EXPECT_EQ(run_threads(pairs, programs, setting), "") << "PENSTOCK_TEST_SEED=" << base_seed();
    }
  }
  void both_ways(const std::string& a, const std::string& b) {
    expect_ends({kind, kind}, {a, b});
    expect_ends({kind, other}, {a, b});
  }
};

std::vector<PairSpec> kinds() {
  return {ring(Mode::standard, 2),       ring(Mode::standard, 3),
          ring(Mode::synchronous, 2),    explorer::deferred_ring(Mode::standard, 3),
          rendezvous(ClaimBy::exchange), rendezvous(ClaimBy::flags)};
}

INSTANTIATE_TEST_SUITE_P(, Threads, ::testing::ValuesIn(kinds()),
                         [](const auto& kind) { return explorer::test_name(kind.param); });

std::string repeat(const std::string& calls, unsigned times) {
  return "(" + calls + ")" + std::to_string(times);
}

TEST_P(Threads, L1_L8) {
  both_ways("s1 w1 s2 w2", "r1 r2 w2 w1");
}
TEST_P(Threads, L2) {
  both_ways("s1 r2 w2 w1", "r1 w1 s2 w2");
}
TEST_P(Threads, L3) {
  both_ways("s1 r2 w12", "s2 r1 w12");
}
TEST_P(Threads, L4_TwoQueuesOfEachProcess) {
  expect_ends({kind, other}, {"s1 w1", "r2 w2", "r1 w1", "s2 w2"});
}
TEST_P(Threads, L6_ReceiveStartedButNotWaitedFor) {
  both_ways(repeat("s1 w1", kind.slots + 1) + "s2 w2", repeat("r1 w1", kind.slots) + "r1 r2 w2 w1");
}
TEST_P(Threads, L7_SenderWaitsElsewhere) {
  both_ways(repeat("s1 w1", kind.slots) + "s1 r2 w2 w1", repeat("r1 w1", kind.slots + 1) + "s2 w2");
}
TEST_P(Threads, L10_ClaimsAreActedOn) {
  both_ways("s1 s2 w12", "r1 w1 r2 w2");
  both_ways("s1 s2 w12", "r2 r1 w12");
}
TEST_P(Threads, L11_AWaitEndsAlone) {
  expect_ends({kind}, {"s1 w1", "r1"}, 1);
  expect_ends({kind}, {"s1", "r1 w1"}, 1);
  expect_ends({kind}, {"s1 w1 e1", "r1 a1 w1"});
  expect_ends({kind}, {"s1 a1 w1", "r1 w1 e1"});
}
TEST_P(Threads, L12_RunAhead) {
  expect_ends({kind}, {"(s1 w1)10", "(r1 w1)10"});
}
TEST_P(Threads, L12_RunAheadOfTheReceive) {
  if (kind.path == Path::rendezvous || kind.mode != Mode::standard)
    GTEST_SKIP() << "such sends wait for the receive";
  expect_ends({kind}, {repeat("s1 w1", kind.slots - 1) + "e1 s1 w1 a2",
                       "a1 " + repeat("r1 w1", kind.slots) + "e2"});
}
TEST_P(Threads, L13_EpochsOnTwoQueues) {
  expect_ends({kind}, {"s1 w1 e1 a2", "a1 s1 w1 e2", "r1 w1 e3 a4", "a3 r1 w1 e4"});
}
TEST_P(Threads, L14_WrapAround) {
  expect_ends({kind}, {"(s1 w1)32", "(r1 w1)32"}, 10);
}
TEST_P(Threads, L18_BlockIsReusedWhenBothHaveSaidSo) {
  expect_ends({kind},
              {"(s1 w1)3 e1 a2 z1 e3 (s1 w1)2 a2 z1 e1", "(r1 w1)3 e2 a3 n1 (r1 w1)2 e2 a1 a1 n1"});
}
TEST_P(Threads, L19_ToItself) {
  expect_ends({kind}, {"s1 r1 ws1 wr1"});
  expect_ends({kind}, {"r1 s1 ws1r1"});
}
TEST_P(Threads, L20_RingOfThree) {
  expect_ends({kind, kind, kind}, {"s1 r3 w3 w1", "r1 w1 s2 w2", "s3 r2 w2 w3"});
}

TEST_P(Threads, L9_TokenProvesTheReceive) {
  for (PairSpec ready : {ring(Mode::ready), rendezvous(ClaimBy::exchange, Mode::ready)}) {
    for (bool checked : {false, true}) {
      ready.checks_ready = checked;
      expect_ends({kind, ready}, {"r1 w1 s2 w2", "r2 s1 w1 w2"});
    }
  }
}

TEST_P(Threads, ManyEpochs) {
  const unsigned epochs = long_run() ? 1'000'000 : 100'000;
  for (bool delays : {false, true})
    EXPECT_EQ(run_threads({kind}, {"s1 w1", "r1 w1"},
                          {{56, 64}, delays ? epochs / 10 : epochs, base_seed(), delays}),
              "")
        << "PENSTOCK_TEST_SEED=" << base_seed();
}

// A receive buffer is used anew where it is untouched then. Nobody uses any other, which is what a
// release is about: against a copy that cannot be called back that is a race by its nature, and the
// fences that make it harmless are not seen (docs/protocol.md, Limits).
TEST_P(Threads, L21_ReleasedWaits) {
  for (std::size_t bytes : {56, 200})
    EXPECT_EQ(run_released(kind, {{bytes, 64}, long_run() ? 5000u : 300u, base_seed()}), "")
        << "PENSTOCK_TEST_SEED=" << base_seed();
}

TEST(ThreadsShared, L21_ReleasedWaits) {
  for (ClaimBy claim : {ClaimBy::exchange, ClaimBy::flags})
    EXPECT_EQ(
        run_released(rendezvous(claim), {{200 * 1024, 64}, long_run() ? 500u : 10u, base_seed()}),
        "")
        << "PENSTOCK_TEST_SEED=" << base_seed();
}

// Large enough for the waiting side to copy a part of the other's message.
TEST(ThreadsShared, BothMoveOneMessage) {
  ASSERT_GT(peer::Parts::best_count(200 * 1024, true), 1u);
  for (ClaimBy claim : {ClaimBy::exchange, ClaimBy::flags}) {
    const PairSpec kind = rendezvous(claim);
    for (const bool gaps : {false, true}) {
      const Setting setting{{200 * 1024, 64, gaps}, long_run() ? 500u : 20u, base_seed()};
      EXPECT_EQ(run_threads({kind}, {"s1 w1", "r1 w1"}, setting), "")
          << "PENSTOCK_TEST_SEED=" << base_seed();
      EXPECT_EQ(run_threads({kind, kind}, {"s1 r2 w12", "s2 r1 w12"}, setting), "")
          << "PENSTOCK_TEST_SEED=" << base_seed();
    }
  }
}

TEST(ThreadsBuffered, CompletesLocally) {
  const PairSpec kind = ring(Mode::buffered, 3);
  EXPECT_EQ(
      run_threads({kind}, {"(s1 w1)3 e1 a2", "a1 (r1 w1)3 e2"}, {{200, 64}, 200, base_seed()}), "");
}

TEST(ThreadsBuffered, OneTooManyIsRefused) {
  const PairSpec kind = ring(Mode::buffered, 3);
  EXPECT_NE(
      run_threads({kind}, {"(s1 w1)4"}, {{200, 64}, 1, base_seed()}).find("a start was refused"),
      std::string::npos);
}

// A sender that pushes two large ready messages before the first receive overwrites one of them:
// the receiver tells.
TEST(ThreadsReady, ABrokenPromiseIsSeenByTheReceiver) {
  peer::SenderBlock sender{};
  peer::ReceiverBlock receiver{};
  std::vector<std::byte> outgoing(64), incoming(64);
  const auto address = [](std::vector<std::byte>& of) {
    return reinterpret_cast<std::uint64_t>(of.data());
  };
  const auto port = [&](std::vector<std::byte>& own, std::vector<std::byte>& other) {
    return peer::HostPort<64>({.sender = &sender,
                               .receiver = &receiver,
                               .buffer = own.data(),
                               .segments = {},
                               .cut = {64},
                               .other = {address(other)},
                               .other_segments = {}});
  };
  auto from = port(outgoing, incoming), to = port(incoming, outgoing);
  protocol::SendState send;
  protocol::ReceiveState receive;
  const auto pass = [&](unsigned messages) {
    for (unsigned i = 0; i < messages; ++i) {
      protocol::rendezvous::start_send<Mode::ready>(from, send);
      protocol::rendezvous::wait_send<Mode::ready>(from, send);
    }
    return protocol::rendezvous::wait_receive<Mode::ready>(to, receive) ==
           protocol::Progress::ended;
  };
  EXPECT_TRUE(pass(1));
  EXPECT_FALSE(receive.promise_broken);
  EXPECT_FALSE(pass(2));
  EXPECT_TRUE(receive.promise_broken);
}

// The detector must be awake: with the receiver's loads relaxed nothing orders the payload before
// its use.
struct RelaxedPort : peer::HostPort<64> {
  using peer::HostPort<64>::HostPort;
  template <protocol::Order>
  std::uint64_t load(protocol::Word word) const {
    return peer::HostPort<64>::load<protocol::Order::relaxed>(word);
  }
};

void pass_one_message_without_acquire() {
  peer::SenderBlock sender{};
  peer::ReceiverBlock receiver{};
  std::vector<std::byte> outgoing(64), incoming(64);
  const auto setup = [&](std::vector<std::byte>& own, std::vector<std::byte>& other) {
    return peer::PortSetup{.sender = &sender,
                           .receiver = &receiver,
                           .buffer = own.data(),
                           .segments = {},
                           .cut = {64},
                           .other = {reinterpret_cast<std::uint64_t>(other.data())},
                           .other_segments = {}};
  };
  std::thread from([port = RelaxedPort(setup(outgoing, incoming))]() mutable {
    protocol::SendState state;
    protocol::rendezvous::start_send<Mode::ready>(port, state);
  });
  std::thread to([port = RelaxedPort(setup(incoming, outgoing)), &incoming]() mutable {
    protocol::ReceiveState state;
    while (protocol::rendezvous::wait_receive<Mode::ready>(port, state) ==
           protocol::Progress::pending)
      std::this_thread::yield();
    incoming[0] = std::byte{1};
  });
  from.join();
  to.join();
  std::exit(0);
}

TEST(ThreadsDetectorDeathTest, FindsARelaxedLoad) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(pass_one_message_without_acquire(), ::testing::ExitedWithCode(66), "data race");
}

}  // namespace
}  // namespace penstock::threads
