// SPDX-License-Identifier: Apache-2.0
#include "base/backoff.hpp"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace penstock::base {
namespace {

constexpr std::uint64_t clock_interval = 16;
constexpr std::uint64_t yields = 64;
constexpr std::chrono::microseconds longest_sleep{100};

std::atomic<int> sleepers{0};  // threads of this process inside a sleep of a Backoff that gives way

void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

bool Backoff::spin_over() noexcept {
  if (spin_.count() == 0) return true;
  const std::uint64_t paused = polls_ - bare_end_ - 1;
  if (paused % clock_interval != 0) return false;
  const auto now = std::chrono::steady_clock::now();
  if (paused == 0) began_ = now;
  return now - began_ >= spin_;
}

void Backoff::slow_pause() noexcept {
  if (spin_end_ == never) {
    if (!spin_over()) return relax();
    spin_end_ = polls_;
  }
  const std::uint64_t beyond = polls_ - spin_end_;
  if (beyond < yields) {
    sched_yield();
    return;
  }
  sleep(beyond - yields);
}

void Backoff::sleep(std::uint64_t number) const noexcept {
  if (!gives_way_) return std::this_thread::sleep_for(sleep_step(number, 1));
  const int others = sleepers.fetch_add(1, std::memory_order_relaxed);
  std::this_thread::sleep_for(sleep_step(number, others + 1));
  sleepers.fetch_sub(1, std::memory_order_relaxed);
}

std::chrono::microseconds sleep_step(std::uint64_t number, int count) noexcept {
  constexpr int few = 4;
  const std::chrono::microseconds alone{1 << std::min<std::uint64_t>(number, 7)};
  return std::min(alone, longest_sleep) * std::max(1, count / few);
}

}  // namespace penstock::base
