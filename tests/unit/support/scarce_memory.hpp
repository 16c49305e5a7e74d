// SPDX-License-Identifier: Apache-2.0
// The operator new of the test program, which counts and can fail.
#pragma once

#include <cstdint>

namespace penstock {

std::uint64_t allocations() noexcept;  // of all threads

// While it lives this thread's allocations fail, but for so many of the next; or only so many of
// those behind them fail.
class ScarceMemory {
 public:
  static constexpr std::uint64_t all = ~std::uint64_t{0};
  explicit ScarceMemory(std::uint64_t left, std::uint64_t failures = all) noexcept;
  ~ScarceMemory();
  ScarceMemory(const ScarceMemory&) = delete;
  ScarceMemory& operator=(const ScarceMemory&) = delete;
};

}  // namespace penstock
