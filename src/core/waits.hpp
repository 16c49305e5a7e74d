// SPDX-License-Identifier: Apache-2.0
// What the queues and the matches wait for: the table that is printed, and the waits that have
// lasted too long.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "core/queue.hpp"

namespace penstock::core {

class Queues;

// The lines of the matches (Matcher::describe).
using DescribeMatches = std::function<std::string()>;

// A line for every queue: what it waits for and since when, or that it does not; behind them those
// of the matches.
std::string describe_waits(Queues& queues, const DescribeMatches& matches);

// The time-out of waits. Used by one thread.
class TimeLimit {
 public:
  TimeLimit(std::chrono::milliseconds limit, DescribeMatches matches)
      : limit_(limit), matches_(std::move(matches)) {}

  // Releases the waits that are over the limit. Prints the table first, once for each set of new
  // ones. Needs no memory but for what it says.
  void enforce(Queues& queues) noexcept;

 private:
  void cancel(BlockedWait& wait) noexcept;

  std::chrono::milliseconds limit_;
  DescribeMatches matches_;
};

}  // namespace penstock::core
