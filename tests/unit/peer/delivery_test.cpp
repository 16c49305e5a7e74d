// SPDX-License-Identifier: Apache-2.0
// Deliveries between two members in one process: their memory, and how their waits end.
#include <gtest/gtest.h>

#include "unit/peer/two.hpp"

namespace penstock::peer {
namespace {

using base::ErrorKind;
using transport::GroupMessage;
using transport::GroupWay;

// Two blocks of eight bytes, in memory that the other member addresses.
struct Deliverer {
  End& end;
  std::uint64_t* in = nullptr;
  std::uint64_t* out = nullptr;
  std::unique_ptr<transport::GroupOffer> offer;
  std::unique_ptr<transport::Plan> plan;

  void allocate() {
    in = static_cast<std::uint64_t*>(end.transport->memory().allocate(16));
    out = static_cast<std::uint64_t*>(end.transport->memory().allocate(16));
  }
  void free() {
    end.transport->memory().free(in);
    end.transport->memory().free(out);
  }
  GroupMessage message(GroupWay way) const {
    GroupMessage message;
    message.members = {0, 1};
    message.me = static_cast<std::size_t>(end.world.rank());
    message.way = way;
    for (int member = 0; member < 2; ++member)
      message.blocks.push_back({reinterpret_cast<const std::byte*>(in + member), 8,
                                reinterpret_cast<std::byte*>(out + member), 8});
    return message;
  }
  void run() { once(*plan, end); }
  void finish() { end.stream->synchronize({}); }
};

class DeliveryOfTwo : public ::testing::TestWithParam<GroupWay> {
 protected:
  DeliveryOfTwo() {
    for (Deliverer* each : {&a_, &b_}) {
      each->allocate();
      each->offer = each->end.transport->open_group(each->message(GetParam()));
    }
    const std::vector<transport::WireRecord> records{a_.offer->record(), b_.offer->record()};
    for (Deliverer* each : {&a_, &b_}) {
      each->plan = each->offer->connect(records);
      each->plan->set_label("blocks");
      each->offer.reset();
    }
  }
  ~DeliveryOfTwo() override {
    for (Deliverer* each : {&a_, &b_}) {
      each->plan.reset();
      each->free();
    }
  }
  std::size_t retired(const Deliverer& of) {
    of.end.transport->retired().sweep_all();
    return of.end.transport->retired().size();
  }

  const std::unique_ptr<std::array<End, 2>> ends_ = introduce(settings());
  Deliverer a_{(*ends_)[0], nullptr, nullptr, nullptr, nullptr},
      b_{(*ends_)[1], nullptr, nullptr, nullptr, nullptr};

 private:
  static base::Settings settings() {
    base::Settings settings;
    settings.cross_memory = false;
    return settings;
  }
};
INSTANTIATE_TEST_SUITE_P(, DeliveryOfTwo,
                         ::testing::Values(GroupWay::put_lock, GroupWay::put_fence),
                         [](const auto& way) {
                           return way.param == GroupWay::put_lock ? "by_pairs" : "between_barriers";
                         });

TEST_P(DeliveryOfTwo, EachEpochBringsItsBlocks) {
  for (std::uint64_t epoch = 1; epoch <= 50; ++epoch) {
    for (std::uint64_t to = 0; to < 2; ++to) {
      a_.in[to] = 10 * epoch + to;
      b_.in[to] = 1000 * epoch + to;
    }
    a_.run();
    b_.run();
    a_.finish();
    b_.finish();
    EXPECT_EQ(a_.out[0], 10 * epoch);
    EXPECT_EQ(a_.out[1], 1000 * epoch);
    EXPECT_EQ(b_.out[0], 10 * epoch + 1);
    EXPECT_EQ(b_.out[1], 1000 * epoch + 1);
  }
}

TEST_P(DeliveryOfTwo, BlocksAreUsedAgainWhenAllHaveClosed) {
  a_.plan->close();
  a_.plan.reset();
  EXPECT_EQ(retired(a_), 1u) << "the other member may still store";
  EXPECT_EQ(b_.plan->pair_state(1), transport::PairState::peer_closed);
  b_.plan->close();
  b_.plan.reset();
  EXPECT_EQ(retired(a_), 0u);
  EXPECT_EQ(retired(b_), 0u);
}

TEST_P(DeliveryOfTwo, APlanThatIsNotAgreedOnHoldsNothing) {
  a_.plan.reset();
  EXPECT_EQ(retired(a_), 0u);
  EXPECT_EQ(b_.plan->pair_state(1), transport::PairState::serves);
}

TEST_P(DeliveryOfTwo, ADeadMemberEndsTheWait) {
  a_.run();
  a_.end.world.kill(1);
  a_.finish();
  ASSERT_TRUE(a_.end.sink.error());
  EXPECT_EQ(a_.end.sink.error()->kind(), ErrorKind::peer_dead);
  EXPECT_EQ(a_.end.sink.error()->text(), "blocks: rank 1 has ended before epoch 1: see its output");
}

// The other one's start is refused, and nothing is written to who has given up.
TEST_P(DeliveryOfTwo, AWaitThatIsCancelledEndsItForAll) {
  a_.out[1] = 7;
  b_.in[0] = 8;
  a_.run();
  a_.end.sink.when_blocked([](transport::Waiter& waiter) {
    EXPECT_EQ(waiter.describe(), "epoch 1, delivery, waits for rank 1");
    waiter.cancel_wait(base::Error(ErrorKind::timeout, "too long"));
  });
  a_.finish();
  ASSERT_TRUE(a_.end.sink.error());
  EXPECT_EQ(a_.end.sink.error()->text(), "blocks: too long");
  EXPECT_EQ(a_.plan->pair_state(2), transport::PairState::given_up);
  b_.run();
  b_.finish();
  ASSERT_TRUE(b_.end.sink.error());
  EXPECT_EQ(b_.end.sink.error()->kind(), ErrorKind::peer_freed);
  EXPECT_NE(b_.end.sink.error()->text().find("rank 0"), std::string::npos);
  EXPECT_EQ(a_.out[1], 7u);
}

TEST_P(DeliveryOfTwo, WhatCannotBeServedIsSaid) {
  const Peer& peer = *a_.end.transport;
  EXPECT_TRUE(peer.can_serve_group(a_.message(GetParam())).yes);
  GroupMessage ordinary = a_.message(GetParam());
  std::byte elsewhere[8];
  ordinary.blocks[1].to = elsewhere;
  const std::string why = peer.can_serve_group(ordinary).why;
  EXPECT_EQ(why.find("rank 1 of MPI_COMM_WORLD cannot write to the receive buffer, which is not of "
                     "PST_Alloc_mem: "),
            0u)
      << why;
  ordinary.blocks[1].bytes_from = 0;
  EXPECT_TRUE(peer.can_serve_group(ordinary).yes) << "nothing comes from it";
}

}  // namespace
}  // namespace penstock::peer
