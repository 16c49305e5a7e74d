// SPDX-License-Identifier: Apache-2.0
#include "enqueued/staged_pieces.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/error.hpp"

namespace penstock::enqueued {
namespace {

constexpr std::size_t block_size = std::size_t{64} << 10;
constexpr std::size_t half = block_size / 2 - 64;  // a receive has a head of 64 bytes

// The program's calls, and MPI's ends, of messages of one queue.
class Pieces {
 public:
  EnqueuedMessage& enqueue(std::size_t bytes, bool sends) {
    StagedMessage& staged = pieces.take(bytes, sends);
    EnqueuedMessage& message = *messages_.emplace_back(std::make_unique<EnqueuedMessage>());
    message.direction = sends ? transport::Direction::send : transport::Direction::receive;
    message.staged = &staged;
    open_.add(message);
    return message;
  }
  void trigger() {
    pieces.begin_trigger();
    pieces.trigger(open_, [](StagedMessage&) {});
    while (open_.take_first() != nullptr) continue;
  }
  // Returns how many receives the stream copies.
  int wait() {
    besides = pieces.begin_wait();
    int copies = 0;
    pieces.wait([&](StagedMessage&) { ++copies; });
    return copies;
  }
  void end(EnqueuedMessage& message) { pieces.leave(*std::exchange(message.staged, nullptr)); }
  void expect_full(std::size_t bytes) {
    EXPECT_THROW(pieces.take(bytes, true), base::Error) << bytes << " bytes found room";
  }

  QueueWords words{};
  std::uint64_t besides = 0;

 private:
  std::vector<std::byte> memory_ = std::vector<std::byte>(block_size);
  std::vector<std::unique_ptr<EnqueuedMessage>> messages_;
  Bundle open_;

 public:
  std::vector<std::uint64_t> marks = std::vector<std::uint64_t>(StagedPieces::marks_of(block_size));
  StagedPieces pieces{memory_.data(), block_size, marks.data(), words};
};

TEST(StagedPieces, AnEnqueuedWaitGivesBackWhatIsTriggeredBefore) {
  Pieces queue;
  for (int round = 0; round < 5; ++round) {
    EnqueuedMessage& receive = queue.enqueue(half, false);
    EnqueuedMessage& send = queue.enqueue(half, true);
    queue.expect_full(half);
    queue.trigger();
    queue.expect_full(half);  // MPI is at it
    EXPECT_EQ(queue.wait(), 1);
    EXPECT_EQ(queue.besides, 0U);
    queue.end(receive);
    queue.end(send);
  }
}

TEST(StagedPieces, WhatIsOpenKeepsItsPieceOverAWait) {
  Pieces queue;
  queue.enqueue(half / 2, true);
  queue.trigger();
  EnqueuedMessage& open = queue.enqueue(half, false);
  std::byte* const piece = open.staged->piece;
  EXPECT_EQ(queue.wait(), 0);
  for (int i = 0; i < 3; ++i) {
    const std::byte* const other = queue.pieces.take(half / 4, true).piece;
    EXPECT_TRUE(other + half / 4 <= piece || piece + half <= other);
  }
  queue.trigger();
  EXPECT_EQ(queue.wait(), 1);
}

// The oldest first: a receive that no request ends keeps what is behind it.
TEST(StagedPieces, WhatTheProgramHasCompletedMakesRoom) {
  Pieces queue;
  EnqueuedMessage& receive = queue.enqueue(half, false);
  EnqueuedMessage& send = queue.enqueue(half, true);
  queue.trigger();
  queue.end(send);
  queue.expect_full(half);
  ASSERT_TRUE(queue.pieces.give_to_program(*receive.staged));
  queue.expect_full(half);
  queue.pieces.program_has_copied();
  queue.end(receive);
  EXPECT_NE(queue.pieces.take(half, true).piece, nullptr);
}

TEST(StagedPieces, AReceiveIsCopiedOnce) {
  Pieces queue;
  EnqueuedMessage& first = queue.enqueue(8, false);
  EnqueuedMessage& second = queue.enqueue(8, false);
  queue.trigger();
  ASSERT_TRUE(queue.pieces.give_to_program(*first.staged));
  EXPECT_FALSE(queue.pieces.give_to_program(*first.staged));
  EXPECT_TRUE(queue.pieces.program_copies());
  EXPECT_EQ(queue.wait(), 1);
  // The wait is for the program's copy besides.
  EXPECT_EQ(queue.besides, 1U);
  EXPECT_EQ(load(queue.words.copied), 0U);
  queue.pieces.program_has_copied();
  EXPECT_EQ(load(queue.words.copied), 1U);
  EXPECT_FALSE(queue.pieces.give_to_program(*second.staged));
  queue.end(first);
  queue.end(second);
}

// A copy of the program that has ended is waited for by nobody.
TEST(StagedPieces, AWaitBehindTheProgramsCopyIsForNothingBesides) {
  Pieces queue;
  EnqueuedMessage& receive = queue.enqueue(8, false);
  queue.trigger();
  ASSERT_TRUE(queue.pieces.give_to_program(*receive.staged));
  queue.pieces.program_has_copied();
  queue.end(receive);
  EXPECT_EQ(queue.wait(), 0);
  EXPECT_EQ(queue.besides, 0U);
}

TEST(StagedPieces, ARefusedMessageLeavesNothingBehind) {
  Pieces queue;
  EnqueuedMessage& send = queue.enqueue(half, true);
  for (int i = 0; i < 1000; ++i) queue.expect_full(block_size);
  queue.expect_full(block_size + 1);
  queue.trigger();
  queue.trigger();
  queue.end(send);
  EXPECT_NE(queue.pieces.take(block_size, true).piece, nullptr);
}

}  // namespace
}  // namespace penstock::enqueued
