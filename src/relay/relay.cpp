// SPDX-License-Identifier: Apache-2.0
#include "relay/relay.hpp"

#include <algorithm>
#include <mutex>
#include <thread>

namespace penstock::relay {

using Outcome = plan::ProgressThread::Outcome;

void Relay::begin() {
  const std::lock_guard lock(progress_lock_);
  thread_.start();
}

void Relay::add(RelayedPair& pair) {
  const std::lock_guard lock(progress_lock_);
  thread_.start();
  pairs_.push_back(&pair);
}

void Relay::expect(RelayedPair& pair, bool replayed) noexcept {
  pair.expect(replayed);
  thread_.wake_if_asleep();
}

void Relay::poison(RelayedPair& pair) noexcept {
  const std::lock_guard lock(progress_lock_);
  pair.poison();
}

void Relay::give_up(RelayedPair& pair) noexcept {
  const std::lock_guard lock(progress_lock_);
  if (pair.has_work()) pair.poison();
}

void Relay::close(RelayedPair& pair, Ended ended, void* argument) noexcept {
  pair.when_ended_ = ended;
  pair.argument_ = argument;
  pair.closing_.store(true, std::memory_order_seq_cst);
  thread_.wake_if_asleep();
}

void Relay::close(RelayedPair& pair) noexcept {
  std::unique_lock lock(progress_lock_);
  pair.prepare_close();
  while (pair.still_moves() && !stopping_) {
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
    pair.advance();
  }
  std::erase(pairs_, &pair);
  pair.close();
}

Outcome Relay::advance() noexcept {
  Outcome outcome = Outcome::idle;
  RelayedPair* closed = nullptr;
  {
    const std::lock_guard lock(progress_lock_);
    for (std::size_t i = 0; i < pairs_.size();) {
      RelayedPair& pair = *pairs_[i];
      const bool closing = pair.closing_.load(std::memory_order_acquire);
      outcome = std::min(outcome, pair.advance());
      if (closing) pair.prepare_close();
      if (!closing || (pair.still_moves() && !stopping_)) {
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
  return outcome;
}

bool Relay::nothing_to_do(bool listening) noexcept {
  const std::lock_guard lock(progress_lock_);
  return std::all_of(pairs_.begin(), pairs_.end(),
                     [&](const RelayedPair* pair) { return pair->lets_sleep(listening); });
}

}  // namespace penstock::relay
