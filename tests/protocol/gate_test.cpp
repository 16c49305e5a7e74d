// SPDX-License-Identifier: Apache-2.0
// The gate before a kernel that waits, in every interleaving and with every value that a load may
// read. The waiter runs on at any time here, as it may if the gate is open too early; so each of
// its closings meets each of the posts.
#include <gtest/gtest.h>

#include "protocol/gate.hpp"
#include "protocol/model/litmus.hpp"

namespace penstock::explorer {
namespace {

constexpr unsigned posted = 0, open = 1, finished = 2;

enum class Defect : std::uint8_t {
  none,
  no_fence,       // of the waiter; of the poster: two stores in place of one
  acquire_fence,  // orders no store before a load
  opened_first,   // OPEN = 1 before POSTED = e
  polled_first    // POSTED read before OPEN = 0
};

// The words of the shipped code in the model. OPEN has two writers, neither of which reads it. The
// poster's store of both at once is here two with a fence between, which allow all that it does,
// and more.
struct Gate {
  LitmusThread& thread;
  Defect defect = Defect::none;
  Value looked = 0;

  std::uint32_t load_posted() {
    return defect == Defect::polled_first ? looked : thread.load(posted, Order::relaxed);
  }
  void store_both(protocol::gate::GateWords words) {
    if (defect == Defect::opened_first)
      thread.overwrite(open, Order::relaxed, static_cast<Value>(words.open));
    thread.store(posted, Order::relaxed, static_cast<Value>(words.posted));
    fence();
    if (defect != Defect::opened_first)
      thread.overwrite(open, Order::relaxed, static_cast<Value>(words.open));
  }
  void store_open(std::uint32_t value) {
    if (defect == Defect::polled_first && value == 0) looked = thread.load(posted, Order::relaxed);
    thread.overwrite(open, Order::relaxed, static_cast<Value>(value));
  }
  void fence() {
    if (defect == Defect::acquire_fence) thread.fence(Order::acquire);
    if (defect != Defect::no_fence && defect != Defect::acquire_fence) thread.fence();
  }
};

constexpr int unknown = 2;

// What the gate is at last: told by the end that is through last, which has seen all that the other
// did.
int last_value(LitmusThread& thread) {
  if (thread.exchange(finished, Order::acq_rel, 1) == 0) return unknown;
  return thread.load(open, Order::relaxed);
}

// `posts` starts at one end, and `waits` at the other, the last of which stands at the gate for
// epoch waits + 1.
std::set<int> last_values(int posts, int waits, Defect posters = Defect::none,
                          Defect waiters = Defect::none) {
  Shape shape;
  shape.locations = 3;
  shape.threads = 2;
  shape.fences = true;
  shape.mixed_fences = true;
  shape.readers.fill(3);
  const auto poster = [=](LitmusThread& thread, std::vector<int>& registers) {
    Gate gate{thread, posters};
    for (int epoch = 1; epoch <= posts; ++epoch)
      protocol::gate::post(gate, static_cast<protocol::Epoch>(epoch));
    registers[0] = last_value(thread);
  };
  const auto waiter = [=](LitmusThread& thread, std::vector<int>& registers) {
    Gate gate{thread, waiters};
    for (int epoch = 1; epoch <= waits; ++epoch)
      protocol::gate::close(gate, static_cast<protocol::Epoch>(epoch) + 1);
    registers[1] = last_value(thread);
  };
  std::set<int> values;
  for (const auto& outcome : run_litmus(shape, 2, {poster, waiter})) {
    if (outcome.size() != 2)
      values.insert(-1);  // a race
    else
      values.insert(outcome[0] == unknown ? outcome[1] : outcome[0]);
  }
  return values;
}

TEST(Gate, IsOpenForWhatHasBeenPosted) {
  for (int waits = 0; waits <= 2; ++waits) {
    for (int posts = waits + 1; posts <= 3; ++posts)
      EXPECT_EQ(last_values(posts, waits), std::set<int>{1})
          << posts << " posts, " << waits << " waits";
  }
}

TEST(Gate, MayBeOpenTooEarlyButIsClosedAfterAWait) {
  // Two waits that have ended leave the second post to the poster, which may come late.
  EXPECT_EQ(last_values(2, 2), (std::set<int>{0, 1}));
  EXPECT_EQ(last_values(0, 1), std::set<int>{0});
}

// And that the poster has none is due to its one store.
TEST(Gate, NeedsItsFences) {
  for (const Defect weak : {Defect::no_fence, Defect::acquire_fence}) {
    EXPECT_TRUE(last_values(2, 1, weak, Defect::none).contains(0));
    EXPECT_TRUE(last_values(2, 1, Defect::none, weak).contains(0));
  }
}

TEST(Gate, NeedsItsOrders) {
  EXPECT_TRUE(last_values(2, 1, Defect::opened_first, Defect::none).contains(0));
  EXPECT_TRUE(last_values(2, 1, Defect::none, Defect::polled_first).contains(0));
}

TEST(Gate, CountsOnWhereTheLowerHalfOfTheEpochWrapsAround) {
  using protocol::gate::has_posted;
  constexpr protocol::Epoch wrap = protocol::Epoch{1} << 32;
  EXPECT_TRUE(has_posted(static_cast<std::uint32_t>(wrap), wrap));
  EXPECT_TRUE(has_posted(3, wrap + 2));
  EXPECT_FALSE(has_posted(0xffffffff, wrap));
  EXPECT_FALSE(has_posted(1, wrap + 2));
}

}  // namespace
}  // namespace penstock::explorer
