// SPDX-License-Identifier: Apache-2.0
// G5: a synchronous send completes only after its receive has been started, and needs no more than
// that.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "conformance/one_way.hpp"

namespace penstock::test {
namespace {

TEST(Synchronous, G5_CompletesOnlyAfterTheReceiveIsStarted) {
  for_each_pair(protocol_sizes(), {Kind::synchronous}, [](const auto& options) {
    OneWay pair(options);
    Counter complete;
    constexpr int epochs = 5;
    for (int epoch = 1; epoch <= epochs; ++epoch) {
      pair.start_send();
      if (pair.sends()) {
        pair.wait_send();
        pair.send_lane().launch(Counter::raise, &complete);
        // Gives a send that would complete too early the time to do so; a right one passes at any
        // speed.
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        EXPECT_EQ(complete.count, epoch - 1);
        int idle = 1;
        EXPECT_PST(PST_Queue_test(pair.send_lane().queue(), &idle));
        EXPECT_EQ(idle, 0);
      }
      meet();
      pair.start_receive();
      if (epoch % 2 == 0) {
        // The receive's start is enough; its wait comes later.
        pair.synchronize_receive();
        pair.finish_send();
        meet();
      }
      pair.wait_receive();
      pair.finish_receive();
      pair.finish_send();
    }
    pair.expect_good(epochs);
  });
}

TEST(Synchronous, G5_SmallSendsWithALateReceive) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{8}, std::size_t{57}, std::size_t{1000}, eager_max()}) {
    OneWay pair({.bytes = bytes, .kind = Kind::synchronous});
    constexpr int epochs = 100;
    for (int i = 0; i < epochs; ++i) {
      pair.start_send();
      pair.wait_send();
    }
    meet();
    for (int i = 0; i < epochs; ++i) {
      if (pair.receives() && i % 4 == 0) enqueue_delay(pair.receive_lane(), 50);
      pair.start_receive();
      if (pair.receives() && i % 4 == 1) enqueue_delay(pair.receive_lane(), 50);
      pair.wait_receive();
    }
    pair.finish_receive();
    pair.finish_send();
    pair.expect_good(epochs);
  }
}

}  // namespace
}  // namespace penstock::test
