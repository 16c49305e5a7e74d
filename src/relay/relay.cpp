// SPDX-License-Identifier: Apache-2.0
#include "relay/relay.hpp"

#include <algorithm>

#include "base/backoff.hpp"
#include "base/thread.hpp"

namespace penstock::relay {

namespace {

using std::chrono::steady_clock;

// How long it stays up after the last news: waking a blocked thread costs a system call, which a
// program that communicates all the time should not pay at each start. Then it sleeps.
constexpr std::chrono::milliseconds attentive{2};

// Where launches of graphs are to be listened for, it looks the more rarely the longer it has been
// quiet: so a start is found late by a small part of the pause before it.
steady_clock::duration poll_interval(steady_clock::duration quiet) {
  return std::min<steady_clock::duration>(quiet / 16, std::chrono::milliseconds(5));
}

}  // namespace

void Relay::begin_in_turn() {
  if (thread_.joinable()) return;
  stopping_.store(false, std::memory_order_relaxed);
  thread_ = base::start_thread("penstock-relay", [this] { run(); });
}

void Relay::begin() {
  const std::lock_guard lock(progress_lock_);
  begin_in_turn();
}

void Relay::add(RelayedPair& pair) {
  const std::lock_guard lock(progress_lock_);
  begin_in_turn();
  pairs_.push_back(&pair);
}

void Relay::stop() noexcept {
  if (!thread_.joinable()) return;
  stopping_.store(true, std::memory_order_seq_cst);
  wake_if_asleep();
  thread_.join();
  thread_ = {};
}

// Whoever brings work writes it first and then looks whether the thread is asleep; the thread
// announces its sleep and then looks for work. All sequentially consistent, so that one of them
// sees the other.
void Relay::wake_if_asleep() noexcept {
  if (!asleep_.load(std::memory_order_seq_cst)) return;
  {
    const std::lock_guard lock(sleep_mutex_);
    asleep_.store(false, std::memory_order_seq_cst);
  }
  awake_.notify_one();
}

void Relay::expect(RelayedPair& pair, bool replayed) noexcept {
  pair.expect(replayed);
  wake_if_asleep();
}

void Relay::poison(RelayedPair& pair) noexcept {
  const std::lock_guard lock(progress_lock_);
  pair.poison();
}

void Relay::close(RelayedPair& pair, Ended ended, void* argument) noexcept {
  pair.when_ended_ = ended;
  pair.argument_ = argument;
  pair.closing_.store(true, std::memory_order_seq_cst);
  wake_if_asleep();
}

void Relay::close(RelayedPair& pair) noexcept {
  const std::lock_guard lock(progress_lock_);
  remove(pair);
  pair.close();
}

void Relay::remove(RelayedPair& pair) noexcept {
  std::erase(pairs_, &pair);
}

Activity Relay::round() noexcept {
  Activity activity = Activity::none;
  RelayedPair* closed = nullptr;
  {
    const std::lock_guard lock(progress_lock_);
    for (std::size_t i = 0; i < pairs_.size();) {
      RelayedPair& pair = *pairs_[i];
      const bool closing = pair.closing_.load(std::memory_order_acquire);
      activity = std::max(activity, pair.advance());
      if (!closing) {
        ++i;
        continue;
      }
      pair.close();
      pair.next_closed_ = closed;
      closed = &pair;
      pairs_[i] = pairs_.back();
      pairs_.pop_back();
    }
  }
  while (closed != nullptr) {
    RelayedPair* const next = closed->next_closed_;
    closed->when_ended_(closed->argument_);  // the pair may be gone when it returns
    closed = next;
  }
  return activity;
}

bool Relay::may_sleep(bool listening) noexcept {
  const std::lock_guard lock(progress_lock_);
  return std::all_of(pairs_.begin(), pairs_.end(),
                     [&](const RelayedPair* pair) { return pair->lets_sleep(listening); });
}

// True: woken, because there is something new.
bool Relay::rest(bool listening, steady_clock::duration quiet) noexcept {
  asleep_.store(true, std::memory_order_seq_cst);
  if (!may_sleep(listening) || stopping_.load(std::memory_order_seq_cst)) {
    asleep_.store(false, std::memory_order_seq_cst);
    return true;
  }
  std::unique_lock lock(sleep_mutex_);
  const auto woken = [this] { return !asleep_.load(std::memory_order_seq_cst); };
  if (!listening) {
    awake_.wait(lock, woken);
    return true;
  }
  if (awake_.wait_for(lock, poll_interval(quiet), woken)) return true;
  asleep_.store(false, std::memory_order_seq_cst);
  return false;
}

void Relay::run() noexcept {
  base::Backoff backoff(spin_);
  auto last_news = steady_clock::now();
  const auto news = [&] {
    backoff.reset();
    last_news = steady_clock::now();
  };
  while (!stopping_.load(std::memory_order_relaxed)) {
    const Activity activity = round();
    if (activity == Activity::moved) {
      news();
    } else if (activity == Activity::waiting || backoff.spinning()) {
      backoff.pause();
    } else if (const auto quiet = steady_clock::now() - last_news; quiet < attentive) {
      backoff.pause();
    } else if (rest(activity == Activity::listening, quiet)) {
      news();
    }
  }
  round();  // what has been closed before the end
}

}  // namespace penstock::relay
