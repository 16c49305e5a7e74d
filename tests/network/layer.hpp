// SPDX-License-Identifier: Apache-2.0
// A layer between the library under test and libfabric, in the test program: it counts the calls by
// which work is queued, released and looked at, and lets a provider run out of things or refuse a
// write. All else goes on to the provider.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

namespace penstock::test::network {

// Of objects of the domains that can defer work.
std::uint64_t calls_of_this_thread();
std::uint64_t calls_of_all_threads();

// What is left; less than one: the provider has no more.
using Supply = std::atomic<long>;
inline constexpr long plenty = std::numeric_limits<long>::max();

struct Faults {
  Supply regions{plenty};
  Supply counters{plenty};
  Supply entries{plenty};    // of deferred work, used up for good
  Supply additions{plenty};  // that are issued at once: no room in the provider's queue
  std::atomic<bool> wrong_keys{
      false};  // messages are written to a region that the target does not have
};
Faults& faults();

}  // namespace penstock::test::network
