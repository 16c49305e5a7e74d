// SPDX-License-Identifier: Apache-2.0
#include "plan/progress_thread.hpp"

#include <algorithm>

#include "base/backoff.hpp"
#include "base/thread.hpp"

namespace penstock::plan {

namespace {

// How long the thread stays awake after the last news: waking a blocked thread costs a system call,
// which a program that communicates all the time should not pay at each start.
constexpr std::chrono::milliseconds awake_after_news{2};
constexpr std::chrono::microseconds shortest_sleep{100};

using std::chrono::steady_clock;

// A thread that has found nothing for long looks seldom: it comes late by a small part of the pause
// before it. And a core that is woken again and again is not idle enough for the system to move
// another thread there.
steady_clock::duration poll_interval(steady_clock::duration quiet) {
  return std::min<steady_clock::duration>(quiet / 16, std::chrono::milliseconds(5));
}

}  // namespace

void ProgressThread::start() {
  if (thread_.joinable()) return;
  stopping_.store(false, std::memory_order_relaxed);
  thread_ = base::start_thread(name_, [this] { run(); });
}

void ProgressThread::stop() noexcept {
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_seq_cst);
  wake();
  thread_.join();
  thread_ = {};
}

void ProgressThread::wake() noexcept {
  {
    const std::lock_guard lock(mutex_);
    asleep_.store(false, std::memory_order_seq_cst);
  }
  awake_.notify_one();
}

void ProgressThread::run() noexcept {
  base::Backoff backoff(spin_);
  auto last_news = steady_clock::now();
  const auto news = [&] {
    backoff.reset();
    last_news = steady_clock::now();
  };
  std::optional<steady_clock::time_point> polled_since;
  while (!stopping_.load(std::memory_order_relaxed)) {
    const Outcome outcome = work_.advance();
    if (outcome == Outcome::worker_polls) {
      leave_to_workers(polled_since);
      news();
      continue;
    }
    polled_since.reset();
    if (outcome == Outcome::moved) {
      news();
    } else if (outcome == Outcome::waiting || backoff.spinning()) {
      backoff.pause();
    } else if (const auto quiet = steady_clock::now() - last_news; quiet < awake_after_news) {
      backoff.pause();
    } else if (const bool listening = outcome == Outcome::listening;
               sleep(listening ? std::optional(poll_interval(quiet)) : std::nullopt)) {
      news();
    }
  }
  work_.advance();
}

void ProgressThread::leave_to_workers(std::optional<steady_clock::time_point>& since) {
  const auto now = steady_clock::now();
  if (!since) since = now;
  std::this_thread::sleep_for(
      std::max<steady_clock::duration>(shortest_sleep, poll_interval(now - *since)));
}

bool ProgressThread::sleep(std::optional<steady_clock::duration> limit) noexcept {
  asleep_.store(true, std::memory_order_seq_cst);
  if (!work_.nothing_to_do(limit.has_value()) || stopping_.load(std::memory_order_seq_cst)) {
    asleep_.store(false, std::memory_order_seq_cst);
    return true;
  }
  std::unique_lock lock(mutex_);
  const auto woken = [this] { return !asleep_.load(std::memory_order_seq_cst); };
  if (!limit) {
    awake_.wait(lock, woken);
    return true;
  }
  if (awake_.wait_for(lock, *limit, woken)) return true;
  asleep_.store(false, std::memory_order_seq_cst);
  return false;
}

}  // namespace penstock::plan
