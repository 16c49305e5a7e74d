// SPDX-License-Identifier: Apache-2.0
#include "base/run_delay.hpp"

#include <atomic>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace penstock::base {
namespace {

// In nanoseconds.
struct Times {
  std::uint64_t ran = 0;
  std::uint64_t waited = 0;
};

Times times_of(const std::filesystem::path& thread) {
  Times times;
  return std::ifstream(thread / "schedstat") >> times.ran >> times.waited ? times : Times{};
}

std::atomic<std::uint64_t> ended_ran{0};
std::atomic<std::uint64_t> ended_waited{0};

}  // namespace

RunDelay look_at_run_delay() {
  double ran = static_cast<double>(ended_ran.load(std::memory_order_relaxed));
  double waited = static_cast<double>(ended_waited.load(std::memory_order_relaxed));
  std::error_code failure;
  for (std::filesystem::directory_iterator each("/proc/self/task", failure), end;
       !failure && each != end; each.increment(failure)) {
    const Times times = times_of(each->path());
    ran += static_cast<double>(times.ran);
    waited += static_cast<double>(times.waited);
  }
  return {ran * 1e-9, waited * 1e-9};
}

void keep_run_delay() noexcept {
  try {
    const Times times = times_of("/proc/thread-self");
    ended_ran.fetch_add(times.ran, std::memory_order_relaxed);
    ended_waited.fetch_add(times.waited, std::memory_order_relaxed);
  } catch (const std::exception&) {  // no memory for a path: this thread is not counted
  }
}

}  // namespace penstock::base
