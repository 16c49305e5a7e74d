// SPDX-License-Identifier: Apache-2.0
// The end of a pair, in order and out of order: freed by one side, given up, released, its peer
// dead; and the reuse of its memory.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "peer/handshake.hpp"
#include "unit/peer/two.hpp"
#include "unit/support/scarce_memory.hpp"

namespace penstock::peer {
namespace {

using base::Error;
using base::ErrorKind;

base::Settings settings_of(std::size_t eager_max) {
  base::Settings settings;
  settings.eager_max = eager_max;
  return settings;
}

constexpr std::size_t both_paths[] = {0, std::size_t{1} << 30};

TEST(PeerEnds, L18LateFinDoesNotReachTheNextPair) {
  const auto ends = introduce(settings_of(1 << 20));
  End& a = (*ends)[0];
  End& b = (*ends)[1];
  for (std::uint64_t i = 1; i <= 500; ++i) {
    std::uint64_t from = i, to = 0;
    Matched pair = match(a, b, &from, 8, &to, 8);
    once(*pair.send, a);
    a.stream->synchronize({});
    pair.send->close();
    pair.send.reset();
    // The next pair is matched while the receiver of this one has not waited yet: its FIN and
    // CLOSED come later.
    std::uint64_t next_from = ~i, next_to = 0;
    Matched next = match(a, b, &next_from, 8, &next_to, 8);
    once(*next.send, a);
    once(*pair.receive, b);
    b.stream->synchronize({});
    EXPECT_EQ(to, i);
    pair.receive->close();
    once(*next.send, a);
    once(*next.receive, b);
    once(*next.receive, b);
    a.stream->synchronize({});
    b.stream->synchronize({});
    ASSERT_EQ(next_to, ~i);
    next.send->close();
    next.receive->close();
  }
  EXPECT_FALSE(a.sink.error());
  EXPECT_FALSE(b.sink.error());
}

TEST(PeerEnds, BlocksAreReusedOnceBothHaveClosedAndNotBefore) {
  const auto ends = introduce(settings_of(1 << 20));
  End& a = (*ends)[0];
  End& b = (*ends)[1];
  std::vector<std::byte> from(10000), to(10000);
  std::vector<Matched> half_open;
  const auto file_bytes = [&](End& end) { return end.transport->shared_memory()->file_bytes(); };
  for (int i = 0; i < 20; ++i)
    match(a, b, from.data(), from.size(), to.data(), to.size()).send->close();
  const std::size_t before = file_bytes(b);
  for (int i = 0; i < 2000; ++i) {
    Matched pair = match(a, b, from.data(), from.size(), to.data(), to.size());
    pair.send->close();
    pair.receive->close();
  }
  EXPECT_EQ(file_bytes(b), before);
  for (int i = 0; i < 2000; ++i) {
    Matched pair = match(a, b, from.data(), from.size(), to.data(), to.size());
    pair.receive->close();
    half_open.push_back(std::move(pair));  // the sender may still store into the receiver's block
    half_open.back().receive.reset();
  }
  EXPECT_GT(file_bytes(b), before + 2000 * 20000);
}

TEST(PeerEnds, StartAfterThePeerFreedItsHalfIsAnError) {
  for (const std::size_t eager_max : both_paths) {
    const auto ends = introduce(settings_of(eager_max));
    End& a = (*ends)[0];
    End& b = (*ends)[1];
    std::uint64_t from = 1, to = 0;
    Matched pair = match(a, b, &from, 8, &to, 8);
    pair.receive->start(*b.stream, b.sink);
    once(*pair.send, a);
    pair.receive->wait(*b.stream, b.sink);
    a.stream->synchronize({});
    b.stream->synchronize({});
    EXPECT_EQ(pair.send->pair_state(2), transport::PairState::serves);
    pair.receive->close();
    EXPECT_EQ(pair.send->pair_state(1), transport::PairState::serves);
    EXPECT_EQ(pair.send->pair_state(2), transport::PairState::peer_closed);
    once(*pair.send, a);
    a.stream->synchronize({});
    ASSERT_TRUE(a.sink.error());
    EXPECT_EQ(a.sink.error()->kind(), ErrorKind::peer_freed);
  }
}

TEST(PeerEnds, WaitEndsWhenThePeerFreesItsHalfMeanwhile) {
  for (const std::size_t eager_max : both_paths) {
    const auto ends = introduce(settings_of(eager_max));
    End& a = (*ends)[0];
    End& b = (*ends)[1];
    std::uint64_t from = 1, to = 0;
    Matched pair = match(a, b, &from, 8, &to, 8);
    once(*pair.receive, b);
    b.sink.when_blocked([&](transport::Waiter&) { pair.send->close(); });
    b.stream->synchronize({});
    ASSERT_TRUE(b.sink.error());
    EXPECT_EQ(b.sink.error()->kind(), ErrorKind::peer_freed);
  }
}

TEST(PeerEnds, WhatWasSentBeforeTheSenderFreedArrives) {
  const auto ends = introduce(settings_of(1 << 20));
  End& a = (*ends)[0];
  End& b = (*ends)[1];
  std::uint64_t from = 77, to = 0;
  Matched pair = match(a, b, &from, 8, &to, 8);
  once(*pair.send, a);
  a.stream->synchronize({});
  pair.send->close();
  pair.send.reset();
  EXPECT_EQ(pair.receive->pair_state(1), transport::PairState::serves);
  once(*pair.receive, b);
  b.stream->synchronize({});
  EXPECT_EQ(to, 77u);
  EXPECT_FALSE(b.sink.error());
}

TEST(PeerEnds, WaitEndsWhenThePeerDies) {
  for (const std::size_t eager_max : both_paths) {
    const auto ends = introduce(settings_of(eager_max));
    End& b = (*ends)[1];
    std::uint64_t from = 1, to = 0;
    Matched pair = match((*ends)[0], b, &from, 8, &to, 8);
    once(*pair.receive, b);
    b.sink.when_blocked([&](transport::Waiter&) { b.world.kill(0); });
    b.stream->synchronize({});
    ASSERT_TRUE(b.sink.error());
    EXPECT_EQ(b.sink.error()->kind(), ErrorKind::peer_dead);
  }
}

// The number of a process that has ended may be given to another one, here to this very process:
// nothing is copied there.
TEST(PeerEnds, NothingIsCopiedIntoTheSuccessorOfADeadProcess) {
  base::Settings settings = settings_of(0);
  settings.cross_memory = true;
  const auto ends = introduce(settings);
  End& a = (*ends)[0];
  End& b = (*ends)[1];
  std::vector<std::byte> from(5000, std::byte{1}), to(5000, std::byte{2});
  Matched pair = match(a, b, from.data(), from.size(), to.data(), to.size());
  if (pair.send->path().find("cross-memory") == std::string::npos)
    GTEST_SKIP() << pair.send->path();
  pair.receive->start(*b.stream, b.sink);
  b.stream->synchronize({});
  a.world.kill(1);
  once(*pair.send, a);
  a.stream->synchronize({});
  ASSERT_TRUE(a.sink.error());
  EXPECT_EQ(a.sink.error()->kind(), ErrorKind::peer_dead);
  EXPECT_EQ(to, std::vector<std::byte>(5000, std::byte{2}));
}

// The sender is in the middle of its copy when the wait is released: it copies alone, as the
// receiver cannot reach its buffer.
TEST(PeerEnds, L21NothingComesIntoTheBufferBehindAReleasedWait) {
  constexpr std::size_t bytes = std::size_t{8} << 20;
  base::Settings settings = settings_of(0);
  settings.cross_memory = false;
  const auto ends = introduce(settings);
  End& a = (*ends)[0];
  End& b = (*ends)[1];
  auto* const to = static_cast<std::byte*>(b.transport->memory().allocate(bytes));
  for (int round = 0; round < 4; ++round) {
    std::vector<std::byte> from(bytes, std::byte{1});
    std::memset(to, 0, bytes);
    RecordingSink sink;
    Matched pair = match(a, b, from.data(), bytes, to, bytes, protocol::Mode::ready);
    const auto stream = make_stream();
    pair.receive->start(*stream, sink);
    pair.receive->wait(*stream, sink);
    RecordingSink senders;
    const auto sending = make_stream();
    std::atomic<bool> begins = false;
    sink.when_blocked([&](transport::Waiter& plan) {
      sending->launch([](void* flag) { static_cast<std::atomic<bool>*>(flag)->store(true); },
                      &begins);
      pair.send->start(*sending, senders);
      pair.send->wait(*sending, senders);
      while (!begins) std::this_thread::yield();
      plan.cancel_wait(Error(ErrorKind::timeout, "too long"));
    });
    stream->synchronize({});
    const std::vector<std::byte> then(to, to + bytes);
    sending->synchronize({});
    EXPECT_EQ(std::memcmp(to, then.data(), bytes), 0) << "round " << round;
    pair.send->close();
    pair.receive->close();
  }
  b.transport->memory().free(to);
}

TEST(PeerEnds, L21ReleasedWaitSpoilsThePairOnBothSides) {
  for (const std::size_t eager_max : both_paths) {
    for (const bool sender_released : {true, false}) {
      const auto ends = introduce(settings_of(eager_max));
      End& a = (*ends)[0];
      End& b = (*ends)[1];
      std::uint64_t from = 1, to = 99;
      Matched pair = match(a, b, &from, 8, &to, 8, protocol::Mode::synchronous);
      End& released = sender_released ? a : b;
      once(sender_released ? *pair.send : *pair.receive, released);
      released.sink.when_blocked([](transport::Waiter& plan) {
        EXPECT_NE(plan.describe().find("epoch 1"), std::string::npos) << plan.describe();
        plan.cancel_wait(Error(ErrorKind::timeout, "too long"));
      });
      released.stream->synchronize({});
      ASSERT_TRUE(released.sink.error());
      EXPECT_EQ(released.sink.error()->kind(), ErrorKind::timeout);
      End& other = sender_released ? b : a;
      once(sender_released ? *pair.receive : *pair.send, other);
      other.stream->synchronize({});
      // A ring's data had left before the release; nothing else may be reported as a success.
      const bool had_left = sender_released && eager_max != 0;
      EXPECT_EQ(other.sink.error().has_value(), !had_left);
      if (!had_left) {
        EXPECT_EQ(to, 99u) << "data was moved after the release";
      }
      pair.send->close();
      pair.receive->close();
    }
  }
}

TEST(PeerEnds, FreedMemoryStaysWhileRequestsUseIt) {
  const auto ends = introduce(settings_of(0));
  End& a = (*ends)[0];
  End& b = (*ends)[1];
  constexpr std::size_t bytes = 2 << 20;
  void* from = a.transport->memory().allocate(bytes);
  void* to = b.transport->memory().allocate(bytes);
  std::memset(from, 3, bytes);
  Matched pair = match(a, b, from, bytes, to, bytes);
  EXPECT_TRUE(a.transport->memory().free(from));
  EXPECT_TRUE(b.transport->memory().free(to));
  once(*pair.send, a);
  once(*pair.receive, b);
  a.stream->synchronize({});
  b.stream->synchronize({});
  EXPECT_EQ(static_cast<std::byte*>(to)[bytes - 1], std::byte{3});
  pair.send->close();
  pair.receive->close();
}

TEST(PeerEnds, ShortSharedMemoryIsAnErrorAtMatch) {
  const auto ends = introduce(settings_of(std::size_t{1} << 60));
  std::uint64_t word = 0;
  try {
    match((*ends)[0], (*ends)[1], &word, std::size_t{1} << 50, &word, std::size_t{1} << 50);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::resources);
  }
  std::uint64_t from = 4, to = 0;
  Matched pair = match((*ends)[0], (*ends)[1], &from, 8, &to, 8);
  once(*pair.send, (*ends)[0]);
  once(*pair.receive, (*ends)[1]);
  (*ends)[1].stream->synchronize({});
  EXPECT_EQ(to, 4u);
  (*ends)[0].stream->synchronize({});
}

// A dead peer will not say that it has closed, and stores nothing any more.
TEST(PeerEnds, BlocksOfPairsWithTheDeadAreUsedAgain) {
  const auto ends = introduce(settings_of(1 << 20));
  End& a = (*ends)[0];
  std::uint64_t from = 1, to = 0;
  std::vector<Matched> pairs;
  for (int i = 0; i < 20; ++i) pairs.push_back(match(a, (*ends)[1], &from, 8, &to, 8));
  for (Matched& pair : pairs) {
    pair.send->close();
    const ScarceMemory none(0);
    pair.send.reset();
  }
  Retired& retired = a.transport->retired();
  {
    const ScarceMemory none(0);
    retired.sweep_all();
  }
  EXPECT_EQ(retired.size(), 20u) << "the peer may still store";
  a.world.kill(1);
  retired.sweep_all();
  EXPECT_EQ(retired.size(), 0u);
}

// Memory of the program's that pairs have kept is given back when it is short, not only by later
// matches.
TEST(PeerEnds, FreedMemoryIsThereAgainWhenItIsShort) {
  const auto ends = introduce(settings_of(1 << 20));
  End& a = (*ends)[0];
  constexpr std::size_t bytes = 150 * 1024;  // two of them are more than there is at first
  void* const memory = a.transport->memory().allocate(bytes);
  ASSERT_TRUE(a.transport->memory().contains(memory, bytes));
  std::vector<std::byte> to(bytes);
  Matched pair = match(a, (*ends)[1], memory, bytes, to.data(), bytes);
  pair.send->close();
  pair.receive->close();
  pair.send.reset();
  pair.receive.reset();
  EXPECT_TRUE(a.transport->memory().free(memory));
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  rlimit none = old;
  none.rlim_cur = 4096;
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &none);
  void* const again = a.transport->memory().allocate(bytes);
  setrlimit(RLIMIT_FSIZE, &old);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(again, memory);
  EXPECT_TRUE(a.transport->memory().contains(again, bytes)) << "it is ordinary memory";
}

// A half that counts as matched before its sender has connected hears of it when that fails, and
// may still store into the sender's block.
TEST(PeerEnds, AHalfThatCannotConnectIsClosedTowardsItsPeer) {
  const auto ends = introduce(settings_of(1 << 20));
  End& a = (*ends)[0];
  End& b = (*ends)[1];
  std::uint64_t from = 1, to = 0;
  transport::Message send;
  send.direction = transport::Direction::send;
  send.buffer = &from;
  send.bytes = 8;
  send.peer = 1;
  transport::Message receive = send;
  receive.direction = transport::Direction::receive;
  receive.buffer = &to;
  receive.peer = 0;
  const auto offer = a.transport->offer(send);
  const auto acceptance = b.transport->accept(receive, send, offer->record());
  const auto matched = acceptance->confirm();
  transport::WireRecord answer = acceptance->record();
  ChoiceRecord record;
  std::memcpy(&record, answer.data(), sizeof record);
  record.path = static_cast<std::uint32_t>(Path::rendezvous);
  record.buffer.in_arena = 1;
  record.buffer.place = {std::uint64_t{1} << 60, std::uint64_t{1} << 60,
                         std::uint64_t{1} << 60};  // nobody can map that
  std::memcpy(answer.data(), &record, sizeof record);
  EXPECT_THROW(offer->connect(answer), Error);
  EXPECT_EQ(matched->pair_state(1), transport::PairState::peer_closed);
  EXPECT_EQ(a.transport->retired().size(), 1u) << "the receiver may still store";
  matched->close();
  a.transport->retired().sweep_all();
  EXPECT_EQ(a.transport->retired().size(), 0u);
}

TEST(PeerSettings, MoreSlotsThanFlagsAreRefused) {
  base::Settings settings;
  settings.slots = PENSTOCK_FLAG_BITS >= 32 ? 0xffffffffu : 1u << PENSTOCK_FLAG_BITS;
  FakeWorld world(0, 1);
  if (PENSTOCK_FLAG_BITS >= 32)
    EXPECT_NO_THROW(Peer(settings, world));
  else
    EXPECT_THROW(Peer(settings, world), Error);
}

}  // namespace
}  // namespace penstock::peer
