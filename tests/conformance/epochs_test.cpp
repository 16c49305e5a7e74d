// SPDX-License-Identifier: Apache-2.0
// G6: nothing is lost, duplicated or reordered at any number of epochs. PENSTOCK_TEST_LONG=1 runs a
// million.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "conformance/one_way.hpp"
#include "support/rounds.hpp"

namespace penstock::test {
namespace {

// Enqueues `epochs` epochs, at most `window` ahead of what the stream has finished.
template <typename Enqueue, typename Finished>
void run_ahead(std::uint64_t epochs, std::uint64_t window, Enqueue enqueue, Finished finished) {
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    while (epoch >= finished() + window)
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    enqueue();
  }
}

class LongRun : public ::testing::TestWithParam<Kind> {};

std::string name_of(const ::testing::TestParamInfo<Kind>& tested) {
  return name(tested.param);
}
INSTANTIATE_TEST_SUITE_P(Epochs, LongRun, ::testing::Values(Kind::standard, Kind::synchronous),
                         name_of);

TEST_P(LongRun, G6_EveryMessageArrivesOnce) {
  const std::uint64_t epochs = long_run() ? 1000000 : fewer_rounds(size() > 2 ? 2000 : 20000, 10);
  // The driver of a GPU holds up a caller that is about a thousand launches ahead, and with it, in
  // the same process, the one that enqueues what those launches wait for.
  constexpr std::uint64_t window = queue_type == PST_QUEUE_HOST ? 20000 : 100;
  OneWay pair({.bytes = 8, .kind = GetParam(), .memory = Memory::allocated});
  std::atomic<std::uint64_t> sent = 0;
  const auto raise = [](void* count) {
    static_cast<std::atomic<std::uint64_t>*>(count)->fetch_add(1);
  };
  std::thread receiving;
  const auto receive = [&] {
    run_ahead(
        epochs, window,
        [&] {
          pair.start_receive();
          pair.wait_receive();
        },
        [&] { return pair.receiver().checked(); });
  };
  const auto send = [&] {
    run_ahead(
        epochs, window,
        [&] {
          pair.start_send();
          pair.wait_send();
          pair.send_lane().launch(raise, &sent);
        },
        [&] { return sent.load(); });
  };
  // Enqueueing on different queues from different threads needs no thread level of MPI.
  if (pair.sends() && pair.receives()) receiving = std::thread(receive);
  if (pair.sends()) send();
  if (pair.receives() && !pair.sends()) receive();
  if (receiving.joinable()) receiving.join();
  pair.finish_send();
  pair.finish_receive();
  pair.expect_good(epochs);
}

TEST(Epochs, G6_ReaderLagsAThousandEpochsBehind) {
  const int epochs = fewer_rounds(size() > 2 ? 200 : 1000, 4);
  for_each_pair({8, 1000, eager_max() + 1}, {Kind::standard, Kind::synchronous},
                [epochs](const auto& options) {
                  OneWay pair(options);
                  for (int i = 0; i < epochs; ++i) {
                    pair.start_send();
                    pair.wait_send();
                  }
                  meet();  // the sender has enqueued everything, the reader begins now
                  for (int i = 0; i < epochs; ++i) {
                    pair.start_receive();
                    pair.wait_receive();
                  }
                  pair.finish_receive();
                  pair.finish_send();
                  pair.expect_good(static_cast<std::uint64_t>(epochs));
                });
}

}  // namespace
}  // namespace penstock::test
