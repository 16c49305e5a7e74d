// SPDX-License-Identifier: Apache-2.0
// What a host stream must not cost: allocations in the steady state, processor time while it has nothing to do.
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

namespace {

std::atomic<std::uint64_t> allocations{0};

void* counted(std::size_t size, std::size_t alignment) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  void* memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// Counts for the whole test program. The array forms call these, and so would the nothrow form, of which a sanitizer
// has one of its own. Inlined, they would look mismatched to the compiler.
#define NOT_INLINED __attribute__((noinline))
NOT_INLINED void* operator new(std::size_t size) {
  return counted(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
}
NOT_INLINED void* operator new(std::size_t size, std::align_val_t alignment) {
  return counted(size, static_cast<std::size_t>(alignment));
}
NOT_INLINED void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return counted(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
NOT_INLINED void operator delete(void* memory) noexcept {
  std::free(memory);
}
NOT_INLINED void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
NOT_INLINED void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
NOT_INLINED void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace penstock::device::host {
namespace {

using std::chrono::microseconds;

bool nothing(Command&) noexcept {
  return true;
}

bool gate(Command& command) noexcept {
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
    stream.push({&gate, &open, nullptr, 0});
    for (int i = 0; i < ahead; ++i) stream.push({&nothing, nullptr, nullptr, 0});
    open.store(true, std::memory_order_release);
    stream.synchronize({});
    // A round may begin anywhere in a chunk, so the second one may need one more.
    if (round == 1) before = allocations.load();
  }
  EXPECT_GT(before, 0u);
  EXPECT_EQ(allocations.load(), before);
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
