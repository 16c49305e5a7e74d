// SPDX-License-Identifier: Apache-2.0
// No wake-up is lost, with the system's asymmetric fence and without it.
#include "base/sleeper.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <thread>
#include <vector>

namespace penstock::base {
namespace {

class SleeperTest : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(AsymmetricFence, SleeperTest, ::testing::Bool());

// The thread takes one unit of work after the other and sleeps between them; a lost wake-up stops the test for ever.
TEST_P(SleeperTest, LosesNoWakeUp) {
  if (GetParam() && !Sleeper::has_asymmetric_fence()) GTEST_SKIP() << "this system has no asymmetric fence";
  constexpr int producers = 2;
  constexpr std::uint64_t rounds = 10'000;
  Sleeper sleeper(GetParam());
  std::atomic<std::uint64_t> work{0};
  std::atomic<std::uint64_t> taken{0};
  std::thread thread([&] {
    const auto has_work = [&] { return work.load(std::memory_order_acquire) > taken.load(std::memory_order_relaxed); };
    while (taken.load(std::memory_order_relaxed) < producers * rounds) {
      while (!has_work()) sleeper.sleep_unless(has_work);
      taken.store(work.load(std::memory_order_acquire), std::memory_order_release);
    }
  });
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::vector<std::thread> callers;
  for (int p = 0; p < producers; ++p) {
    callers.emplace_back([&, p] {
      std::mt19937_64 random(seed + static_cast<std::uint64_t>(p));
      for (std::uint64_t round = 0; round < rounds; ++round) {
        const std::uint64_t mine = work.fetch_add(1, std::memory_order_release) + 1;
        sleeper.wake();
        while (taken.load(std::memory_order_acquire) < mine) std::this_thread::yield();
        // Meets the thread at every point of its way to sleep.
        for (auto turns = random() % 2000; turns > 0; --turns) std::atomic_signal_fence(std::memory_order_seq_cst);
      }
    });
  }
  for (auto& caller : callers) caller.join();
  thread.join();
  EXPECT_EQ(taken.load(), producers * rounds);
}

}  // namespace
}  // namespace penstock::base
