// SPDX-License-Identifier: Apache-2.0
// The operator new of the test program, which counts and can fail.
#pragma once

#include <cstdint>

namespace penstock {

std::uint64_t allocations() noexcept;  // of all threads

// While it lives this thread's allocations fail, but for so many of the next.
class ScarceMemory {
 public:
  explicit ScarceMemory(std::uint64_t left) noexcept;
  ~ScarceMemory();
  ScarceMemory(const ScarceMemory&) = delete;
  ScarceMemory& operator=(const ScarceMemory&) = delete;
};

}  // namespace penstock
