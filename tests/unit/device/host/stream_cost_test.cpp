// SPDX-License-Identifier: Apache-2.0
// What a host stream must not cost: allocations in the steady state, processor time while it has
// nothing to do.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include "device/host/stream.hpp"
#include "unit/support/scarce_memory.hpp"

namespace penstock::device::host {
namespace {

using std::chrono::microseconds;

bool nothing(Command&) noexcept {
  return true;
}

bool is_open(Command& command) noexcept {
  return static_cast<std::atomic<bool>*>(command.object)->load(std::memory_order_acquire);
}

TEST(HostStreamCost, TheSteadyStateAllocatesNothing) {
  Stream stream(microseconds{20});
  std::atomic<bool> open{false};
  constexpr int ahead = 3000;
  // The first round makes the store grow to what the rounds need.
  std::uint64_t before = 0;
  for (int round = 0; round < 200; ++round) {
    open.store(false, std::memory_order_release);
    stream.push({&is_open, &open, nullptr, 0});
    for (int i = 0; i < ahead; ++i) stream.push({&nothing, nullptr, nullptr, 0});
    open.store(true, std::memory_order_release);
    stream.synchronize({});
    // A round may begin anywhere in a chunk, so the second one may need one more.
    if (round == 1) before = allocations();
  }
  EXPECT_GT(before, 0u);
  EXPECT_EQ(allocations(), before);
}

// The state and the processor time in ns of the thread with that name that is not in `known`.
struct Task {
  char state;
  std::uint64_t nanoseconds;
};

std::optional<Task> task(const std::string& name) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string comm;
    std::getline(std::ifstream(entry.path() / "comm"), comm);
    if (comm != name) continue;
    std::ostringstream stat;
    stat << std::ifstream(entry.path() / "stat").rdbuf();
    const std::string text = stat.str();
    Task found{};
    found.state = text.at(text.rfind(')') + 2);
    std::ifstream(entry.path() / "schedstat") >> found.nanoseconds;
    return found;
  }
  return std::nullopt;
}

TEST(HostStreamCost, AWorkerWithoutWorkUsesNoProcessorTime) {
  Stream stream(microseconds{20});
  stream.synchronize({});
  std::optional<Task> asleep;
  do {
    std::this_thread::yield();
    asleep = task("penstock-stream");
    ASSERT_TRUE(asleep.has_value());
  } while (asleep->state != 'S');
  // Once more: it may have been about to sleep for good.
  std::this_thread::sleep_for(std::chrono::milliseconds{5});
  asleep = task("penstock-stream");
  std::this_thread::sleep_for(std::chrono::milliseconds{100});
  EXPECT_EQ(task("penstock-stream")->nanoseconds, asleep->nanoseconds);
  stream.push({&nothing, nullptr, nullptr, 0});
  stream.synchronize({});
}

}  // namespace
}  // namespace penstock::device::host
