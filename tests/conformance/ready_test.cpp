// SPDX-License-Identifier: Apache-2.0
// G5: a ready send may assume that its receive has been started. PENSTOCK_CHECK=1 reports one that
// wrongly did.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "conformance/one_way.hpp"

namespace penstock::test {
namespace {

bool checking() {
  const char* value = std::getenv("PENSTOCK_CHECK");
  return value != nullptr && std::string(value) == "1";
}

TEST(Ready, G5_KeptPromiseDeliversAtEverySize) {
  for_each_pair(protocol_sizes(), {Kind::ready}, [](auto options) {
    options.extra = 40;
    OneWay pair(options);
    constexpr int epochs = 6;
    for (int epoch = 0; epoch < epochs; ++epoch) {
      pair.start_receive();
      pair.synchronize_receive();
      meet();
      pair.start_send();
      if (epoch % 2 == 0) {
        pair.synchronize_send();
        meet();
      }
      pair.wait_receive();
      pair.wait_send();
      pair.finish_receive();
      pair.finish_send();
    }
    pair.expect_good(epochs);
  });
}

TEST(Ready, G5_BrokenPromiseIsReportedWhenChecked) {
  if (!checking()) GTEST_SKIP() << "runs with PENSTOCK_CHECK=1";
  for_each_pair({8, eager_max(), eager_max() + 1, 100000}, {Kind::ready}, [](const auto& options) {
    const int self = rank(), peer = partner();
    const bool sends = self % 2 == 0, receives = self % 2 == 1 || peer == self;
    Sender sender(options.bytes, options.memory, sequence_key(self, peer, 0));
    Receiver receiver(options.bytes, options.memory, sequence_key(peer, self, 0));
    std::vector<MPI_Request*> requests;
    if (sends) {
      sender.init(Kind::ready, peer, 0);
      requests.push_back(&sender.request());
    }
    if (receives) {
      receiver.init(peer, 0);
      requests.push_back(&receiver.request());
    }
    match_all(requests);
    BrokenLane send_lane, receive_lane;
    int reports = 0;
    // One end says so; the other may find that its peer has given the pair up.
    const auto take = [&reports](int code) {
      if (code == MPI_SUCCESS || kind_of(code) == PST_ERROR_PEER_FREED) return;
      EXPECT_EQ(kind_of(code), PST_ERROR_READY) << describe(code);
      ++reports;
    };
    if (sends) {
      sender.enqueue_start(send_lane);
      send_lane.synchronize();
    }
    meet();
    if (receives) {
      take(PST_Enqueue_start(receive_lane.queue(), &receiver.request()));
      take(PST_Queue_wait(receive_lane.queue()));
    }
    if (sends) take(PST_Queue_wait(send_lane.queue()));
    int other = 0;
    if (peer != self) {
      MPI_Sendrecv(&reports, 1, MPI_INT, peer, 99, &other, 1, MPI_INT, peer, 99, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
    }
    EXPECT_GT(reports + other, 0);
  });
}

}  // namespace
}  // namespace penstock::test
