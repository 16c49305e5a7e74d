// SPDX-License-Identifier: Apache-2.0
// A provider that runs out: of regions or counters while pairs are matched, of deferred operations
// while they run. Pairs that cannot be matched on `ofi` take `proxy`, or fail with the cause where
// only `ofi` is allowed; what is matched goes on.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "conformance/one_way.hpp"
#include "conformance/window.hpp"
#include "network/layer.hpp"

namespace penstock::test {
namespace {

using network::faults;

constexpr std::size_t large = 50000;

void run(OneWay& pair, int epochs) {
  for (int epoch = 0; epoch < epochs; ++epoch) {
    pair.start_receive();
    pair.start_send();
    pair.wait_receive();
    pair.wait_send();
  }
  pair.finish_send();
  pair.finish_receive();
}

std::string path_of(OneWay& pair) {
  return transport_of(pair.sends() ? pair.sender().request() : pair.receiver().request());
}

using Supply = network::Supply network::Faults::*;
constexpr Supply regions = &network::Faults::regions, counters = &network::Faults::counters;

class ScarceAtMatch : public ::testing::TestWithParam<Supply> {
 protected:
  void TearDown() override { restore(); }
  static void restore() { supply() = network::plenty; }
  static network::Supply& supply() { return faults().*GetParam(); }
};

std::string name_of(const ::testing::TestParamInfo<Supply>& tested) {
  return tested.param == regions ? "Regions" : "Counters";
}
INSTANTIATE_TEST_SUITE_P(, ScarceAtMatch, ::testing::Values(regions, counters), name_of);

// Each of the things that a half needs may be the first that is not there, at either end.
TEST_P(ScarceAtMatch, WhatCannotBeMatchedTakesProxy) {
  if (!transport_allowed("proxy")) GTEST_SKIP() << "without proxy there is nothing to fall back to";
  for (const int short_rank : {0, 1})
    for (long left = 0; left < 4; ++left)
      for_each_pair({8, large}, {Kind::standard}, [&](const auto& options) {
        OneWay before(options);
        EXPECT_EQ(path_of(before), "ofi");
        if (rank() % 2 == short_rank) supply() = left;
        OneWay during(options);
        restore();
        // A small message's sender registers nothing.
        const bool asks = GetParam() == counters || short_rank == 1 || options.bytes == large;
        if (left == 0 && asks) {
          EXPECT_EQ(path_of(during), "proxy");
        }
        OneWay after(options);
        EXPECT_EQ(path_of(after), "ofi");
        for (OneWay* pair : {&before, &during, &after}) {
          run(*pair, 3);
          pair->expect_good(3);
        }
      });
}

TEST_P(ScarceAtMatch, WhereOnlyOfiIsAllowedTheMatchFailsWithTheCause) {
  if (transport_allowed("proxy")) GTEST_SKIP() << "proxy takes such pairs";
  Sender sender(large, Memory::ordinary, 1);
  Receiver receiver(large, Memory::ordinary, 1);
  MPI_Request* request = &sender.request();
  if (rank() % 2 == 0) {
    sender.init(Kind::standard, partner(), 7);
  } else {
    receiver.init(partner(), 7);
    request = &receiver.request();
    supply() = 0;
  }
  ASSERT_NE(partner(), rank());
  EXPECT_PST_KIND(PST_Match(request, MPI_STATUS_IGNORE), PST_ERROR_RESOURCES);
  for (const char* part : {"tag 7", "ofi", "failed", "No space left on device"})
    EXPECT_NE(last_error().find(part), std::string::npos) << last_error();
  restore();
  EXPECT_PST(PST_Match(request, MPI_STATUS_IGNORE));
}

TEST(ScarceEntries, WhatTheProviderHasNoEntriesForIsCarriedOut) {
  for_each_pair({8, large}, {Kind::standard, Kind::synchronous}, [](const auto& options) {
    OneWay pair(options);
    EXPECT_EQ(path_of(pair), "ofi");
    constexpr int epochs = 30;
    std::uint64_t run_so_far = 0;
    for (const long left : {0l, 1l, 2l, 3l, 5l, 40l, network::plenty}) {
      faults().entries = left;
      run(pair, epochs);
      pair.expect_good(run_so_far += epochs);
    }
  });
}

// Wherever in an epoch the entries end, and though its additions meet a full queue again and again.
TEST(ScarceEntries, EpochsOfWindowsThatTheProviderHasNoEntriesForAreCarriedOut) {
  constexpr std::size_t count = 100;
  constexpr std::uint64_t epochs = 20;
  const int self = rank(), left = previous_rank(), right = next_rank();
  Window window(4 * count);
  Numbers source(count), got(count);
  for (const long entries :
       {0l, 1l, 2l, 3l, 4l, 5l, 6l, 7l, 8l, 9l, 10l, 11l, 40l, network::plenty}) {
    faults().entries = entries;
    Lane lane;
    Script script;
    std::atomic<std::uint64_t> wrong = 0;
    std::atomic<bool> done = false;
    for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch) {
      const bool accumulates = epoch % 5 == 4;
      window.post(lane, {left});
      window.start({right});
      for (std::size_t piece = 0; piece < 2; ++piece)
        window.put(source.data() + piece * count / 2, count / 2, right, piece * count / 2);
      if (accumulates) window.add(source.data(), count, right, count);
      if (epoch % 3 == 0) window.get(got.data(), count, right, 2 * count);
      script.run(lane, [&, epoch] {
        for (std::size_t i = 0; i < count; ++i) source[i] = stamp(self, epoch, i);
      });
      window.complete(lane);
      script.run(lane, [&] { source.fill(0xbad); });
      window.wait(lane);
      script.run(lane, [&, epoch, accumulates] {
        const auto numbers = window.numbers();
        for (std::size_t i = 0; i < count; ++i) {
          wrong += numbers[i] != stamp(left, epoch, i);
          wrong += numbers[count + i] != (accumulates ? stamp(left, epoch, i) : 0);
          numbers[i] = numbers[count + i] = 0;
        }
      });
    }
    script.run(lane, [&done] { done = true; });
    while (!done) {
      faults().additions = 1;
      std::this_thread::yield();
    }
    faults().additions = network::plenty;
    lane.finish();
    EXPECT_EQ(wrong, 0U) << entries << " entries";
    meet();
  }
}

}  // namespace
}  // namespace penstock::test
