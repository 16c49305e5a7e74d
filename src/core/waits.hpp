// SPDX-License-Identifier: Apache-2.0
// What the queues wait for: the table that is printed, and the waits that have lasted too long.
#pragma once

#include <chrono>
#include <string>

#include "core/queue.hpp"

namespace penstock::core {

class Queues;

// A line for every queue: what it waits for and since when, or that it does not.
std::string describe_waits(Queues& queues);

// The time-out of waits. Used by one thread.
class TimeLimit {
 public:
  explicit TimeLimit(std::chrono::milliseconds limit) noexcept : limit_(limit) {}

  // Releases the waits that are over the limit. Prints the table first, once for each set of new ones.
  // Needs no memory but for what it says.
  void enforce(Queues& queues) noexcept;

 private:
  void release(BlockedWait& wait) noexcept;

  std::chrono::milliseconds limit_;
};

}  // namespace penstock::core
