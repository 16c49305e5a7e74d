// SPDX-License-Identifier: Apache-2.0
#include "core/waits.hpp"

#include <fmt/format.h>

#include "base/log.hpp"
#include "core/queues.hpp"

namespace penstock::core {
namespace {

using Clock = std::chrono::steady_clock;

double seconds(Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

std::string describe_queue(Queue& queue, Clock::time_point now) {
  std::string state;
  queue.visit_blocked([&](const BlockedWait& wait) {
    state = fmt::format("waits for {}: {}, for {:.1f} s", wait.waiter->label(),
                        wait.waiter->describe(), seconds(now - wait.since));
  });
  const bool waits = !state.empty();
  if (!waits) state = queue.stream().idle() ? "idle" : "runs";
  if (const std::string besides = queue.describe_companion(waits); !besides.empty())
    state += "; " + besides;
  return fmt::format("\n  queue {}: {}{}", queue.number(), state,
                     queue.failed() ? " (failed)" : "");
}

}  // namespace

std::string describe_waits(Queues& queues, const DescribeMatches& matches) {
  const auto now = Clock::now();
  std::string lines;
  queues.for_each([&](Queue& queue) { lines += describe_queue(queue, now); });
  lines += matches();
  return "what the queues and matches wait for:" + (lines.empty() ? " there are none" : lines);
}

void TimeLimit::cancel(BlockedWait& wait) noexcept {
  wait.released = true;
  wait.waiter->cancel_wait(base::error_by(base::ErrorKind::timeout, [&] {
    return fmt::format(
        "PENSTOCK_TIMEOUT={} has passed ({}): {}; SIGUSR1 prints what a rank waits for",
        seconds(limit_), wait.waiter->describe(), wait.waiter->advice());
  }));
}

void TimeLimit::enforce(Queues& queues) noexcept {
  const auto now = Clock::now();
  const auto over = [&](const BlockedWait& wait) {
    return !wait.released && now - wait.since >= limit_;
  };
  bool found = false;
  queues.for_each([&](Queue& queue) {
    queue.visit_blocked([&](const BlockedWait& wait) { found = found || over(wait); });
  });
  if (!found) return;

  base::log::failures_in([&] { base::log::error(describe_waits(queues, matches_)); });
  queues.for_each([&](Queue& queue) {
    queue.visit_blocked([&](BlockedWait& wait) {
      if (over(wait)) cancel(wait);
    });
  });
}

}  // namespace penstock::core
