// SPDX-License-Identifier: Apache-2.0
// The words of a half serve another pair only when nothing can reach them any more, whatever the
// order in which the provider takes and the network delivers what the peer has last sent: credits
// and "I am gone".
#include <gtest/gtest.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_errno.h>

#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "unit/ofi/pair_ends.hpp"
#include "unit/support/described_layout.hpp"

namespace penstock::ofi {
namespace {

// Stands before an endpoint's additions: lets the provider have no room for them, or the network
// keep them for a while.
class Additions {
 public:
  explicit Additions(fid_ep& endpoint)
      : endpoint_(endpoint), own_(endpoint.atomic), table_(*endpoint.atomic) {
    table_.writemsg = add;
    endpoint.atomic = &table_;
    only = this;
  }
  ~Additions() {
    endpoint_.atomic = own_;
    only = nullptr;
  }

  bool refused = false;
  bool held = false;

  std::size_t on_their_way() const { return held_.size(); }
  void deliver() {
    held = false;
    for (Held& one : held_) {
      one.message.msg_iov = &one.operand;
      one.message.rma_iov = &one.target;
      one.operand.addr = &one.value;
      EXPECT_EQ(own_->writemsg(&endpoint_, &one.message, one.flags), 0);
    }
    held_.clear();
  }

 private:
  struct Held {
    fi_msg_atomic message;
    std::uint64_t flags;
    fi_ioc operand;
    fi_rma_ioc target;
    std::uint64_t value;
  };

  static ssize_t add(fid_ep* endpoint, const fi_msg_atomic* message, std::uint64_t flags) {
    if (only->refused) return -FI_EAGAIN;
    if (!only->held) return only->own_->writemsg(endpoint, message, flags);
    EXPECT_NE(flags & FI_INJECT, 0u) << "what is not copied cannot be kept";
    Held& one =
        only->held_.emplace_back(Held{*message, flags, *message->msg_iov, *message->rma_iov, 0});
    std::memcpy(&one.value, message->msg_iov->addr, sizeof one.value);
    return 0;
  }

  static inline Additions* only = nullptr;
  fid_ep& endpoint_;
  fi_ops_atomic* const own_;
  fi_ops_atomic table_;
  std::deque<Held> held_;
};

constexpr unsigned two_slots = 2;
// Far more than the provider needs to deliver what it has taken.
constexpr int passes = 2000;

class OfiParting : public ::testing::Test {
 protected:
  struct Pair {
    std::unique_ptr<PairEnd> sender, receiver;
  };

  void SetUp() override {
    try {
      sending_ = std::make_unique<Process>();
      receiving_ = std::make_unique<Process>();
    } catch (const base::Error& error) {
      GTEST_SKIP() << error.text();
    }
    credits_ = std::make_unique<Additions>(*receiving_->fabric.endpoint());
  }
  void TearDown() override {
    credits_.reset();
    for (Pair* pair : {&first_, &second_}) *pair = {};
    for (const auto& process : {sending_.get(), receiving_.get()})
      if (process) process->fabric.close_endpoint();
  }

  Pair match(Path path = Path::ring, std::shared_ptr<const group::Layout> sent_as = nullptr) {
    Cut cut;
    cut.bytes = cut.part_bytes = bytes;
    cut.slots = two_slots;
    cut.path = path;
    Pair pair{make_pair_end(*sending_, transport::Direction::send, out_, protocol::Mode::standard,
                            cut, *receiving_, std::move(sent_as)),
              make_pair_end(*receiving_, transport::Direction::receive, in_,
                            protocol::Mode::standard, cut, *sending_)};
    pair.sender->memory().connect(pair.receiver->memory().answer());
    pair.receiver->memory().connect(pair.sender->memory().offer());
    return pair;
  }

  void poll() {
    sending_->poll();
    receiving_->poll();
    for (Pair* pair : {&first_, &second_})
      for (PairEnd* half : {pair->sender.get(), pair->receiver.get()})
        if (half != nullptr) half->advance();
  }
  void poll_long() {
    for (int i = 0; i < passes; ++i) poll();
  }

  void send(Pair& pair, protocol::Epoch epoch) {
    ASSERT_TRUE(pair.sender->trigger(epoch));
    while (!pair.sender->complete(epoch) || !pair.receiver->arrived(epoch)) poll();
  }
  void close(PairEnd& half, protocol::Epoch served) {
    half.tell(served + 1, base::ErrorKind::peer_freed);
    half.seat.closing = true;
  }
  void send_take_and_close_both() {
    send(first_, 1);
    first_.receiver->memory().empty_slot(1);
    close(*first_.receiver, 1);
    close(*first_.sender, 1);
  }
  // As the engine does.
  bool reuse_words_of_first_sender() {
    if (!first_.sender->over()) return false;
    first_.sender.reset();
    second_ = match();
    return true;
  }

  static constexpr std::size_t bytes = 100;
  static constexpr int enough = 100'000;  // looks, far beyond what a word takes
  std::vector<std::byte> out_ = std::vector<std::byte>(bytes), in_ = std::vector<std::byte>(bytes);
  std::unique_ptr<Process> sending_, receiving_;
  std::unique_ptr<Additions> credits_;
  Pair first_, second_;
};

TEST_F(OfiParting, ACreditThatTheProviderHasNoRoomForReachesNoOtherPair) {
  first_ = match();
  credits_->refused = true;
  send_take_and_close_both();
  poll_long();
  const bool early = reuse_words_of_first_sender();
  credits_->refused = false;
  poll_long();
  if (early) {
    EXPECT_FALSE(second_.sender->room(two_slots + 1)) << "the credit of another pair";
  }
  EXPECT_TRUE(early || first_.sender->over()) << "the half never ends";
  EXPECT_TRUE(first_.receiver->over());
}

TEST_F(OfiParting, ACreditThatANoticeOvertakesReachesNoOtherPair) {
  first_ = match();
  credits_->held = true;
  send_take_and_close_both();
  poll_long();
  EXPECT_EQ(credits_->on_their_way(), 1u);
  EXPECT_NE(closed_epoch(load(first_.sender->words().closed)), 0u) << "the notice is to have come";
  const bool early = reuse_words_of_first_sender();
  credits_->deliver();
  poll_long();
  if (early) {
    EXPECT_FALSE(second_.sender->room(two_slots + 1)) << "the credit of another pair";
  }
  EXPECT_TRUE(early || first_.sender->over()) << "the half never ends";
}

// Its peer may have been told where they are, and say that it is gone.
TEST_F(OfiParting, WordsOfAReceiveThatWasNeverConfirmedServeNoOtherPair) {
  first_ = match();
  first_.receiver.reset();  // the match was withdrawn
  second_ = match();
  close(*first_.sender, 0);
  poll_long();
  EXPECT_FALSE(second_.receiver->closed_before(1)) << "the notice of another pair";
}

// What has been taken is told though the receive that comes next has failed: the sender's wait of
// the epoch before may stand for it.
TEST_F(OfiParting, CreditsOfWhatWasTakenGoOutAfterAFailure) {
  first_ = match();
  credits_->refused = true;
  send(first_, 1);
  first_.receiver->memory().empty_slot(1);
  poll();
  first_.receiver->tell(2, base::ErrorKind::timeout);
  first_.receiver->stop();
  poll_long();
  credits_->refused = false;
  poll_long();
  EXPECT_TRUE(first_.sender->room(two_slots + 1));
  EXPECT_TRUE(first_.sender->closed_before(2));
}

std::shared_ptr<const group::Layout> every_other_byte(std::uint64_t bytes) {
  datatype::Segments segments(1);
  segments.repeat(bytes, 2);
  return std::make_shared<test::DescribedLayout>(std::move(segments));
}

// It has asked for a message, and the sender's program makes no call. A message with gaps is sent
// from a copy, and would come into the program's buffer all the same.
TEST_F(OfiParting, AReceiveThatIsGivenUpHasItsBufferBackWhenAnIdleSenderHasParted) {
  for (const auto& sent_as : {std::shared_ptr<const group::Layout>(), every_other_byte(bytes)}) {
    out_.resize(2 * bytes);
    first_ = match(Path::rendezvous, sent_as);
    ASSERT_TRUE(first_.receiver->trigger(1));
    poll_long();
    EXPECT_FALSE(first_.sender->part_by_itself()) << "the receiver is there";
    first_.receiver->tell(1, base::ErrorKind::timeout);
    first_.receiver->stop();
    poll_long();
    EXPECT_FALSE(first_.receiver->untouched());

    int looks = 0;
    while (!first_.sender->part_by_itself() && ++looks < enough) poll();
    ASSERT_LT(looks, enough) << "the sender does not part";
    while (!first_.receiver->untouched()) poll();
    EXPECT_FALSE(first_.sender->trigger(1)) << "a message for a receive that has its buffer back";
    for (PairEnd* half : {first_.sender.get(), first_.receiver.get()}) half->seat.closing = true;
    while (!first_.sender->over() || !first_.receiver->over()) poll();
    first_ = {};
  }
}

TEST_F(OfiParting, AReceiveThatIsGivenUpHasItsBufferBackWhenItsMessageHasCome) {
  first_ = match(Path::rendezvous);
  ASSERT_TRUE(first_.receiver->trigger(1));
  send(first_, 1);
  first_.receiver->tell(1, base::ErrorKind::timeout);
  first_.receiver->stop();
  poll();
  EXPECT_TRUE(first_.receiver->untouched());
}

// It has asked for nothing, or its message lands in slots of the library.
TEST_F(OfiParting, WhatHasNotBegunIsUntouched) {
  for (const Path path : {Path::rendezvous, Path::ring}) {
    first_ = match(path);
    if (path == Path::ring) {
      ASSERT_TRUE(first_.receiver->trigger(1));
    }
    for (PairEnd* half : {first_.sender.get(), first_.receiver.get()}) {
      half->tell(1, base::ErrorKind::timeout);
      half->stop();
    }
    poll();
    EXPECT_TRUE(first_.sender->untouched());
    EXPECT_TRUE(first_.receiver->untouched());
    for (PairEnd* half : {first_.sender.get(), first_.receiver.get()}) half->seat.closing = true;
    // The provider reports by addresses of what is destroyed then.
    while (!first_.sender->over() || !first_.receiver->over()) poll();
    first_ = {};
  }
}

}  // namespace
}  // namespace penstock::ofi
