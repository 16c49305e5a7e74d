// SPDX-License-Identifier: Apache-2.0
#include "base/backoff.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "base/thread.hpp"

namespace penstock::base {
namespace {

using std::chrono::microseconds;

TEST(Backoff, SpinsForTheTimeGivenAndThenNoMore) {
  Backoff backoff(microseconds{200});
  EXPECT_TRUE(backoff.spinning());
  const auto began = std::chrono::steady_clock::now();
  while (backoff.spinning()) backoff.pause();
  EXPECT_GE(std::chrono::steady_clock::now() - began, microseconds{200});
  backoff.reset();
  EXPECT_TRUE(backoff.spinning());
}

TEST(Backoff, DoesNotSpinWhereThreadsOutnumberCores) {
  Backoff backoff(microseconds{0});
  EXPECT_FALSE(backoff.spinning());
  for (int look = 0; look < 200; ++look) backoff.pause();  // yields, then sleeps
  EXPECT_FALSE(backoff.spinning());
}

TEST(Backoff, SleepsGrowWithTheWaitAndWithTheNumberOfThoseThatWait) {
  EXPECT_EQ(sleep_step(0, 1), microseconds{1});
  EXPECT_EQ(sleep_step(3, 4), microseconds{8});
  EXPECT_EQ(sleep_step(1000, 1), microseconds{100});
  EXPECT_EQ(sleep_step(1000, 200), microseconds{5000});
}

TEST(Thread, TakesNoSignalsButThoseOfItsOwnFaults) {
  sigset_t mask;
  start_thread("test", [&] { pthread_sigmask(SIG_SETMASK, nullptr, &mask); }).join();
  EXPECT_EQ(sigismember(&mask, SIGUSR1), 1);
  EXPECT_EQ(sigismember(&mask, SIGTERM), 1);
  EXPECT_EQ(sigismember(&mask, SIGSEGV), 0);
  sigset_t ours;
  pthread_sigmask(SIG_SETMASK, nullptr, &ours);
  EXPECT_EQ(sigismember(&ours, SIGUSR1), 0);
}

}  // namespace
}  // namespace penstock::base
