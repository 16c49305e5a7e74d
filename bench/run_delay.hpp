// SPDX-License-Identifier: Apache-2.0
// How long threads of this process were ready to run and had no core, as the kernel's scheduler
// counts it: figures of a machine that has too much else to do are no figures of a message.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "support/session.hpp"

namespace penstock::bench {

// Of one thread, in nanoseconds.
struct ThreadTimes {
  double ran = 0;
  double waited = 0;  // ready, and another ran
};
using TimesByThread = std::map<std::string, ThreadTimes>;

// Empty where the kernel does not count.
TimesByThread look_at_threads(const std::filesystem::path& tasks = "/proc/self/task");

// What passed between two readings, of the threads that were there at the second.
ThreadTimes passed(const TimesByThread& before, const TimesByThread& after);

// Adds what passes until it ends to what warn_of_run_delay() tells.
class MeasuredTime {
 public:
  MeasuredTime() : before_(look_at_threads()) {}
  ~MeasuredTime();
  MeasuredTime(const MeasuredTime&) = delete;
  MeasuredTime& operator=(const MeasuredTime&) = delete;

 private:
  const TimesByThread before_;
};

// Collective: rank 0 warns if threads of some rank were kept waiting for much of the measured time.
void warn_of_run_delay(const tool::Session& session);

}  // namespace penstock::bench
