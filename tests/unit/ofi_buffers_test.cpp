// SPDX-License-Identifier: Apache-2.0
// A buffered send's start is refused on what the receiver's memory says, not on credits, which may come later than all
// that the receiver has sent since. Two halves of a pair over the provider of this machine, moved by hand.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "transport/ofi/channel.hpp"
#include "transport/ofi/provider.hpp"

namespace penstock::transport::ofi {
namespace {

struct Process {
  Fabric fabric{choose_provider({}, {})};
  WordPool words{fabric};
  OperationPool operations{16};
  WordPool::Place constants = words.take();
  fi_addr_t self = fabric.insert(fabric.name());
  Common common{.fabric = fabric,
                .words = words,
                .operations = operations,
                .one = {&constants.words->done, sizeof(std::uint64_t), constants.region->descriptor()},
                .self = self,
                .counter_limit = 1u << 30,
                .signals = false};

  Process() { constants.words->done = 1; }
  // What a pass of the engine does with the completion queue; half is what it would move.
  void look(Channel& half) {
    fi_cq_entry entry;
    while (fi_cq_read(fabric.completions(), &entry, 1) == 1) {
      ASSERT_NE(entry.op_context, nullptr);
      half.ended(Operation::of(entry.op_context));
    }
  }
};

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
    Shape shape;
    shape.bytes = shape.part_bytes = bytes;
    shape.slots = slots;
    sender_ = half(*sending_, Direction::send, out_, shape, *receiving_);
    receiver_ = half(*receiving_, Direction::receive, in_, shape, *sending_);
    sender_->connect(receiver_->answer());
    receiver_->connect(sender_->offer());
  }
  void TearDown() override {
    for (const auto& process : {sending_.get(), receiving_.get()})
      if (process) process->fabric.close_endpoint();
  }

  static std::unique_ptr<Channel> half(Process& process, Direction direction, std::vector<std::byte>& buffer,
                                       const Shape& shape, Process& peer) {
    Message message;
    message.direction = direction;
    message.mode = Mode::buffered;
    message.buffer = buffer.data();
    message.bytes = bytes;
    return std::make_unique<Channel>(process.common, message, Mode::buffered, shape,
                                     process.fabric.insert(peer.fabric.name()));
  }

  // The receiver's provider makes progress; its half does not, so that no credit leaves.
  void look() {
    sending_->look(*sender_);
    sender_->advance();
    receiving_->look(*receiver_);
  }
  void send(Epoch epoch) {
    sender_->fill(epoch);
    sender_->trigger(epoch);
    while (!sender_->complete(epoch) || !receiver_->arrived(epoch)) look();
  }
  void ask() {
    while (!sender_->ask_what_is_taken()) look();
    while (!sender_->brought()) look();
  }

  static constexpr std::size_t bytes = 100;
  std::unique_ptr<Process> sending_, receiving_;
  std::vector<std::byte> out_, in_;
  std::unique_ptr<Channel> sender_, receiver_;
};

TEST_F(OfiBuffers, G5_CreditsThatAreLateRefuseNoStart) {
  for (Epoch epoch = 1; epoch <= slots; ++epoch) {
    EXPECT_TRUE(sender_->buffer_free(epoch));
    send(epoch);
  }
  EXPECT_FALSE(sender_->buffer_free(slots + 1));
  ask();
  EXPECT_FALSE(sender_->buffer_free(slots + 1)) << "nothing has been taken";

  for (Epoch epoch = 1; epoch <= 20; ++epoch) {
    receiver_->take_out(epoch);
    EXPECT_EQ(in_, out_);
    EXPECT_FALSE(sender_->buffer_free(slots + epoch)) << "the credit has come, which this test holds back";
    ask();
    EXPECT_TRUE(sender_->buffer_free(slots + epoch));
    EXPECT_FALSE(sender_->buffer_free(slots + epoch + 1));
    out_.assign(bytes, static_cast<std::byte>(epoch));
    send(slots + epoch);
    out_.assign(bytes, epoch < slots ? std::byte{7} : static_cast<std::byte>(epoch + 1 - slots));
  }
}

}  // namespace
}  // namespace penstock::transport::ofi
