// SPDX-License-Identifier: Apache-2.0
#include "core/waits.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.hpp"
#include "core/queues.hpp"

namespace penstock::core {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

bool same(const BlockedWait& a, const BlockedWait& b) noexcept {
  return a.plan == b.plan && a.since == b.since;
}

std::string describe_queue(Queue& queue, Clock::time_point now) {
  std::string state;
  queue.look_at_blocked([&](const BlockedWait& wait) {
    state = fmt::format("waits for {}: {}, for {:.1f} s", wait.plan->label(), wait.plan->describe(),
                        seconds(now - wait.since));
  });
  if (state.empty()) state = queue.stream().idle() ? "idle" : "runs";
  return fmt::format("\n  queue {}: {}{}", queue.number(), state, queue.failed() ? " (failed)" : "");
}

}  // namespace

std::string describe_waits(Queues& queues, const DescribeMatches& matches) {
  const auto now = Clock::now();
  std::string lines;
  queues.for_each([&](Queue& queue) { lines += describe_queue(queue, now); });
  lines += matches();
  return "what the queues and matches wait for:" + (lines.empty() ? " there are none" : lines);
}

bool TimeLimit::released(const BlockedWait& wait) const noexcept {
  return std::any_of(released_.begin(), released_.end(), [&](const BlockedWait& other) { return same(wait, other); });
}

void TimeLimit::release(const BlockedWait& wait) {
  wait.plan->release(base::Error(base::ErrorKind::timeout,
                                 fmt::format("PENSTOCK_TIMEOUT={} has passed ({}): see that the other half is started "
                                             "as often as this one, and that neither rank waits for the other before "
                                             "that; SIGUSR1 prints what a rank waits for",
                                             seconds(limit_), wait.plan->describe())));
}

void TimeLimit::enforce(Queues& queues) {
  const auto now = Clock::now();
  bool found = false;
  std::vector<BlockedWait> still_there;
  queues.for_each([&](Queue& queue) {
    queue.look_at_blocked([&](const BlockedWait& wait) {
      if (released(wait)) {
        still_there.push_back(wait);
      } else if (over(wait, now)) {
        found = true;
      }
    });
  });
  released_ = std::move(still_there);
  if (!found) return;

  base::log::error(describe_waits(queues, matches_));
  queues.for_each([&](Queue& queue) {
    queue.look_at_blocked([&](const BlockedWait& wait) {
      if (released(wait) || !over(wait, now)) return;
      release(wait);
      released_.push_back(wait);
    });
  });
}

}  // namespace penstock::core
