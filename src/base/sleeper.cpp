// SPDX-License-Identifier: Apache-2.0
#include "base/sleeper.hpp"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace penstock::base {
namespace {

long membarrier(int command) noexcept {
  return syscall(SYS_membarrier, command, 0, 0);
}

}  // namespace

bool Sleeper::has_asymmetric_fence() noexcept {
  static const bool has = [] {
    const long commands = membarrier(MEMBARRIER_CMD_QUERY);
    return commands > 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0 &&
           membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
  }();
  return has;
}

bool Sleeper::fence_everywhere() noexcept {
  return membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
}

void Sleeper::nap() noexcept {
  asleep_.exchange(0, std::memory_order_acq_rel);
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace penstock::base
