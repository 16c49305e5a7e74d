// SPDX-License-Identifier: Apache-2.0
// What the log says of a busy core counts threads that have ended, too.
#include "base/run_delay.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <time.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "base/thread.hpp"

namespace penstock::base {
namespace {

constexpr double enough = 0.02;  // seconds

double waited_here() {
  double ran = 0, waited = 0;
  std::ifstream("/proc/thread-self/schedstat") >> ran >> waited;
  return waited * 1e-9;
}

void stay_on(int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  sched_setaffinity(0, sizeof one, &one);
}

// This program may have other threads: they have run as little as it shows.
TEST(RunDelay, AThreadIsCountedOnce) {
  double here = 0;
  if (!(std::ifstream("/proc/thread-self/schedstat") >> here)) GTEST_SKIP() << "no count";
  while (here * 1e-9 < 5 * enough) std::ifstream("/proc/thread-self/schedstat") >> here;
  timespec used{};
  const double counted = look_at_run_delay().ran;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  const double all = static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
  EXPECT_LE(counted, all + enough);
}

TEST(RunDelay, ThreadsThatHaveEndedAreCounted) {
  if (!std::ifstream("/proc/thread-self/schedstat")) GTEST_SKIP() << "the kernel does not count";
  const double before = look_at_run_delay().waited;
  const int core = sched_getcpu();
  std::atomic<bool> over{false};
  // Two threads that take turns on a core, until one of them has waited for it long enough.
  std::thread one = start_thread("one", [&] {
    stay_on(core);
    while (waited_here() < enough) {
    }
    over = true;
  });
  std::thread other = start_thread("other", [&] {
    stay_on(core);
    while (!over) {
    }
  });
  one.join();
  other.join();
  EXPECT_GE(look_at_run_delay().waited, before + enough);
}

}  // namespace
}  // namespace penstock::base
