// SPDX-License-Identifier: Apache-2.0
// How long threads were ready to run and had no core, as the kernel's scheduler counts it.
#pragma once

namespace penstock::base {

// Both are in seconds, and 0 where the kernel does not count.
struct RunDelay {
  double ran = 0;
  double waited = 0;
  // Which part of the time that threads ran or were ready they waited: 0 to 1.
  double share() const { return waited > 0 ? waited / (ran + waited) : 0; }
};

// Sums up the threads that the process has now, and those of ours that have ended.
RunDelay look_at_run_delay() noexcept;

// Each thread of ours calls it last: the kernel forgets what it has counted of a thread that ends,
// and a program frees its streams, which are threads, before anybody asks.
void keep_run_delay() noexcept;

}  // namespace penstock::base
