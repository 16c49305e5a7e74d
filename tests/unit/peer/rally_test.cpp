// SPDX-License-Identifier: Apache-2.0
// The direct exchange of two members in one process: its memory, and how its waits end.
#include <gtest/gtest.h>

#include "unit/peer/two.hpp"

namespace penstock::peer {
namespace {

using base::ErrorKind;
using transport::GroupMessage;

// Each adds up eight bytes of all.
struct Member {
  End& end;
  std::uint64_t in = 0, out = 0;
  std::unique_ptr<transport::GroupOffer> offer;
  std::unique_ptr<transport::Plan> plan;

  GroupMessage message() {
    GroupMessage message;
    message.members = {0, 1};
    message.me = static_cast<std::size_t>(end.world.rank());
    const transport::GroupBlock block{reinterpret_cast<const std::byte*>(&in), sizeof in,
                                      reinterpret_cast<std::byte*>(&out), sizeof out};
    message.blocks = {block, block};
    message.combination = {transport::Reduction::sum, transport::Element::uint64};
    return message;
  }
  void run() { once(*plan, end); }
  void finish() { end.stream->synchronize({}); }
};

class RallyOfTwo : public ::testing::Test {
 protected:
  RallyOfTwo() {
    for (Member* each : {&a_, &b_}) each->offer = each->end.transport->open_group(each->message());
    const std::vector<transport::WireRecord> records{a_.offer->record(), b_.offer->record()};
    for (Member* each : {&a_, &b_}) {
      each->plan = each->offer->connect(records);
      each->plan->set_label("sum");
      each->offer.reset();
    }
  }
  std::size_t retired(const Member& of) {
    of.end.transport->retired().sweep_all();
    return of.end.transport->retired().size();
  }

  const std::unique_ptr<std::array<End, 2>> ends_ = introduce(base::Settings());
  Member a_{(*ends_)[0], 0, 0, nullptr, nullptr}, b_{(*ends_)[1], 0, 0, nullptr, nullptr};
};

// From one buffer in shared memory to another messages are copied once.
TEST_F(RallyOfTwo, IsExpectedToBeFastestAsFarAsOneCopyMoreCostsLess) {
  Peer& peer = *a_.end.transport;
  transport::GroupMessage message = a_.message();
  EXPECT_EQ(peer.fastest_directly(message), 16u << 10);
  auto* const shared = static_cast<std::byte*>(peer.memory().allocate(16));
  message.blocks.assign(2, {shared, 8, shared + 8, 8});
  EXPECT_EQ(peer.fastest_directly(message), 4u << 10);
  message.blocks.front() = {};
  EXPECT_EQ(peer.fastest_directly(message), 4u << 10) << "nothing lies anywhere";
  message.blocks.front() = a_.message().blocks.front();
  EXPECT_EQ(peer.fastest_directly(message), 16u << 10);
  peer.memory().free(shared);
}

TEST_F(RallyOfTwo, EachEpochAddsUp) {
  for (std::uint64_t epoch = 1; epoch <= 50; ++epoch) {
    a_.in = epoch;
    b_.in = 1000 * epoch;
    a_.run();
    b_.run();
    a_.finish();
    b_.finish();
    EXPECT_EQ(a_.out, 1001 * epoch);
    EXPECT_EQ(b_.out, 1001 * epoch);
  }
}

TEST_F(RallyOfTwo, BlocksAreUsedAgainWhenAllHaveClosed) {
  a_.plan->close();
  a_.plan.reset();
  EXPECT_EQ(retired(a_), 1u) << "the other member may still store";
  EXPECT_EQ(b_.plan->pair_state(1), transport::PairState::peer_closed);
  b_.plan->close();
  b_.plan.reset();
  EXPECT_EQ(retired(a_), 0u);
  EXPECT_EQ(retired(b_), 0u);
}

TEST_F(RallyOfTwo, BlocksAreUsedAgainWhenTheOthersAreDead) {
  a_.plan->close();
  a_.plan.reset();
  a_.end.world.kill(1);
  EXPECT_EQ(retired(a_), 0u);
}

TEST_F(RallyOfTwo, APlanThatIsNotAgreedOnHoldsNothing) {
  a_.plan.reset();
  EXPECT_EQ(retired(a_), 0u);
  EXPECT_EQ(b_.plan->pair_state(1), transport::PairState::serves);
}

TEST_F(RallyOfTwo, ADeadMemberEndsTheWait) {
  a_.run();
  a_.end.world.kill(1);
  a_.finish();
  ASSERT_TRUE(a_.end.sink.error());
  EXPECT_EQ(a_.end.sink.error()->kind(), ErrorKind::peer_dead);
  EXPECT_EQ(a_.end.sink.error()->text(), "sum: rank 1 has ended before epoch 1: see its output");
}

// The other one's start is refused, whose lines nobody takes.
TEST_F(RallyOfTwo, AWaitThatIsCancelledEndsTheExchangeForAll) {
  a_.run();
  a_.end.sink.when_blocked([](transport::Waiter& waiter) {
    EXPECT_EQ(waiter.describe(), "epoch 1, direct exchange, waits for rank 1");
    waiter.cancel_wait(base::Error(ErrorKind::timeout, "too long"));
  });
  a_.finish();
  ASSERT_TRUE(a_.end.sink.error());
  EXPECT_EQ(a_.end.sink.error()->text(), "sum: too long");
  EXPECT_EQ(a_.plan->pair_state(2), transport::PairState::given_up);
  b_.run();
  b_.finish();
  ASSERT_TRUE(b_.end.sink.error());
  EXPECT_EQ(b_.end.sink.error()->kind(), ErrorKind::peer_freed);
  EXPECT_NE(b_.end.sink.error()->text().find("rank 0"), std::string::npos);
}

TEST_F(RallyOfTwo, WhatCannotBeServedIsSaid) {
  const Peer& peer = *a_.end.transport;
  EXPECT_TRUE(peer.can_serve_group(a_.message()).yes);
  GroupMessage on_gpu = a_.message();
  on_gpu.memory = device::MemoryKind::cuda;
  EXPECT_EQ(peer.can_serve_group(on_gpu).why, "the buffers are not in host memory");
  GroupMessage large = a_.message();
  large.blocks[1].bytes_to = 100000;
  EXPECT_EQ(peer.can_serve_group(large).why, "100000 bytes for a member, and slots hold 16384");
  GroupMessage elsewhere = a_.message();
  elsewhere.members[1] = 7;
  EXPECT_EQ(peer.can_serve_group(elsewhere).why,
            "rank 7 of MPI_COMM_WORLD: peer is not of this job");
}

}  // namespace
}  // namespace penstock::peer
