// SPDX-License-Identifier: Apache-2.0
// No wake-up is lost, with the system's asymmetric fence and without it.
#include "base/sleeper.hpp"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace penstock::base {
namespace {

// From now on the system has no memory for the calling thread's fences. False: system calls cannot
// be filtered here.
bool refuse_fences() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{sizeof program / sizeof *program, program};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

class SleeperTest : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(AsymmetricFence, SleeperTest, ::testing::Bool());

// The thread takes one unit of work after the other and sleeps between them; a lost wake-up stops
// the test for ever.
TEST_P(SleeperTest, LosesNoWakeUp) {
  if (GetParam() && !Sleeper::has_asymmetric_fence())
    GTEST_SKIP() << "this system has no asymmetric fence";
  constexpr int producers = 2;
  constexpr std::uint64_t rounds = 10'000;
  Sleeper sleeper(GetParam());
  std::atomic<std::uint64_t> work{0};
  std::atomic<std::uint64_t> taken{0};
  std::thread thread([&] {
    const auto has_work = [&] {
      return work.load(std::memory_order_acquire) > taken.load(std::memory_order_relaxed);
    };
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
        for (auto turns = random() % 2000; turns > 0; --turns)
          std::atomic_signal_fence(std::memory_order_seq_cst);
      }
    });
  }
  for (auto& caller : callers) caller.join();
  thread.join();
  EXPECT_EQ(taken.load(), producers * rounds);
}

// A thread that could not have its fence may have missed the work, and its caller that it sleeps:
// it must not rest until it is woken. Here nobody wakes it.
TEST(Sleeper, DoesNotRestOnAFenceThatHasFailed) {
  if (!Sleeper::has_asymmetric_fence()) GTEST_SKIP() << "this system has no asymmetric fence";
  bool refused = false;
  std::thread thread([&] {
    refused = refuse_fences();
    Sleeper sleeper(true);
    if (refused) sleeper.sleep_unless([] { return false; });
  });
  thread.join();
  if (!refused) GTEST_SKIP() << "system calls cannot be filtered here";
}

}  // namespace
}  // namespace penstock::base
