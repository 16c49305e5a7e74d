// SPDX-License-Identifier: Apache-2.0
// Counts what a thread does that a hot path must not: system calls, allocations, locks. Only the
// thread that has called begin(), until it calls end(). The counting functions stand in this
// program in front of the C library's, so the library under test uses them too.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace penstock::test {

struct Activity {
  std::uint64_t allocations = 0;  // malloc, calloc, realloc, memalign, free
  std::uint64_t locks = 0;        // pthread mutexes and read-write locks
  std::array<std::uint32_t, 512> system_calls{};
  // Without those that a wait makes once it has spun for long enough: yielding and sleeping.
  std::uint64_t system_calls_beyond_waiting() const;
  std::uint64_t system_calls_that_wait() const;
  std::string text() const;
};

// Allocations and locks; not under a sanitizer, which has functions of its own there.
bool can_count();
bool can_count_system_calls();  // needs x86-64 Linux with syscall user dispatch

void begin_counting(Activity& activity);  // of this thread
void end_counting();

}  // namespace penstock::test
