// SPDX-License-Identifier: Apache-2.0
// A buffered send's start is refused on what the receiver's memory says, not on credits, which may
// come later than all that the receiver has sent since. Two halves of a pair over the provider of
// this machine, moved by hand.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "unit/ofi/pair_ends.hpp"

namespace penstock::ofi {
namespace {

constexpr unsigned slots = 2;

class OfiBuffers : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      sending_ = std::make_unique<Process>();
      receiving_ = std::make_unique<Process>();
    } catch (const base::Error& error) {
      GTEST_SKIP() << error.text();
    }
    out_.assign(bytes, std::byte{7});
    in_.assign(bytes, std::byte{0});
    Cut cut;
    cut.bytes = cut.part_bytes = bytes;
    cut.slots = slots;
    sender_ = make_pair_end(*sending_, transport::Direction::send, out_, protocol::Mode::buffered,
                            cut, *receiving_);
    receiver_ = make_pair_end(*receiving_, transport::Direction::receive, in_,
                              protocol::Mode::buffered, cut, *sending_);
    sender_->memory().connect(receiver_->memory().answer());
    receiver_->memory().connect(sender_->memory().offer());
  }
  void TearDown() override {
    for (const auto& process : {sending_.get(), receiving_.get()})
      if (process) process->fabric.close_endpoint();
  }

  // The receiver's provider makes progress; its half does not, so that no credit leaves.
  void poll() {
    sending_->poll();
    sender_->advance();
    receiving_->poll();
  }
  void send(protocol::Epoch epoch) {
    sender_->memory().fill_slot(epoch);
    ASSERT_TRUE(sender_->trigger(epoch));
    while (!sender_->complete(epoch) || !receiver_->arrived(epoch)) poll();
  }
  void ask() {
    while (!sender_->query_credits()) poll();
    while (!sender_->credits_known()) poll();
  }

  static constexpr std::size_t bytes = 100;
  std::unique_ptr<Process> sending_, receiving_;
  std::vector<std::byte> out_, in_;
  std::unique_ptr<PairEnd> sender_, receiver_;
};

TEST_F(OfiBuffers, G5_CreditsThatAreLateRefuseNoStart) {
  for (protocol::Epoch epoch = 1; epoch <= slots; ++epoch) {
    EXPECT_TRUE(sender_->buffer_free(epoch));
    send(epoch);
  }
  EXPECT_FALSE(sender_->buffer_free(slots + 1));
  ask();
  EXPECT_FALSE(sender_->buffer_free(slots + 1)) << "nothing has been taken";

  for (protocol::Epoch epoch = 1; epoch <= 20; ++epoch) {
    receiver_->memory().empty_slot(epoch);
    EXPECT_EQ(in_, out_);
    EXPECT_FALSE(sender_->buffer_free(slots + epoch))
        << "the credit has come, which this test holds back";
    ask();
    EXPECT_TRUE(sender_->buffer_free(slots + epoch));
    EXPECT_FALSE(sender_->buffer_free(slots + epoch + 1));
    out_.assign(bytes, static_cast<std::byte>(epoch));
    send(slots + epoch);
    out_.assign(bytes, epoch < slots ? std::byte{7} : static_cast<std::byte>(epoch + 1 - slots));
  }
}

}  // namespace
}  // namespace penstock::ofi
