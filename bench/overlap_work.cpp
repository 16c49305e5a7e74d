// SPDX-License-Identifier: Apache-2.0
#include "overlap_work.hpp"

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

namespace penstock::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::duration<double, std::micro>;

// A chain of multiplications, none of which can be left out or begin before the one before it.
volatile std::uint64_t product = 1;

void multiply(std::uint64_t steps) {
  std::uint64_t value = product;
  for (std::uint64_t i = 0; i < steps; ++i)
    value = value * 6364136223846793005u + 1442695040888963407u;
  product = value;
}

// The fastest of some: another program may have had the core in the others.
double measure_speed() {
  constexpr std::uint64_t steps = 1'000'000;
  double fastest = 0;
  for (int i = 0; i < 9; ++i) {
    const auto begin = Clock::now();
    multiply(steps);
    fastest =
        std::max(fastest, static_cast<double>(steps) / Microseconds(Clock::now() - begin).count());
  }
  return fastest;
}

}  // namespace

Work::Work(Compute compute) : compute_(compute) {
  if (compute == Compute::cpu)
    steps_a_microsecond_ = measure_speed();
  else
    prctl(PR_SET_TIMERSLACK, 1);  // sleeps end as soon as they may, not 50 us later
}

void Work::compute_for(double microseconds) const {
  if (compute_ == Compute::idle)
    std::this_thread::sleep_for(Microseconds(microseconds));
  else
    multiply(static_cast<std::uint64_t>(microseconds * steps_a_microsecond_));
}

// A sleep takes some 50 us to begin and to end, whatever its length.
void Work::run(double microseconds, int times, const std::function<void()>& between) const {
  constexpr double shortest_sleep = 500;
  if (compute_ == Compute::idle)
    times = std::min(times, static_cast<int>(microseconds / shortest_sleep));
  for (int part = 0; part <= times; ++part) {
    compute_for(microseconds / (times + 1));
    if (part < times) between();
  }
}

}  // namespace penstock::bench
