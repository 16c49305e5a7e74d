// SPDX-License-Identifier: Apache-2.0
// How long threads of this process were ready to run and had no core, as the library tells it:
// figures of a machine that has too much else to do are no figures of a message.
#pragma once

#include "support/session.hpp"

namespace penstock::bench {

// Both are in seconds of all threads.
struct ThreadTimes {
  double ran = 0;
  double waited = 0;  // ready, and another ran
};

ThreadTimes thread_times();

// Adds what has passed since `before`.
void add_passed(ThreadTimes& sum, const ThreadTimes& before);

// Collective: rank 0 warns if threads of some rank were kept waiting for much of the measured time.
void warn_of_run_delay(const ThreadTimes& measured, const tool::Session& session);

}  // namespace penstock::bench
