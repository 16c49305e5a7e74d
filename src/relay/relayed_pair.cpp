// SPDX-License-Identifier: Apache-2.0
#include "relay/relayed_pair.hpp"

#include <atomic>
#include <bit>
#include <exception>

namespace penstock::relay {

using base::Error;
using base::ErrorKind;
using Outcome = plan::ProgressThread::Outcome;

namespace {

std::uint64_t load(std::uint64_t& word) noexcept {
  return std::atomic_ref(word).load(std::memory_order_acquire);
}

// The relay's side of a gate.
struct PostingGate {
  protocol::gate::GateWords& words;
  void store_both(protocol::gate::GateWords both) const noexcept {
    std::atomic_ref(reinterpret_cast<std::uint64_t&>(words))
        .store(std::bit_cast<std::uint64_t>(both), std::memory_order_release);
  }
};

}  // namespace

// Sequentially consistent: see ProgressThread::wake_if_asleep().
void RelayedPair::expect(bool replayed) noexcept {
  if (replayed)
    replayed_.store(true, std::memory_order_seq_cst);
  else
    expected_.fetch_add(1, std::memory_order_seq_cst);
}

bool RelayedPair::lets_sleep(bool listening) const noexcept {
  if (closing_.load(std::memory_order_seq_cst)) return false;
  if (over_) return true;
  if (under_way_ || expected_.load(std::memory_order_seq_cst) > epoch_) return false;
  return listening || !replayed_.load(std::memory_order_seq_cst);
}

Outcome RelayedPair::advance() noexcept {
  if (over_) return Outcome::idle;
  if (!under_way_) {
    // A launch of a graph counts as a start that was not expected; so a stream that has only
    // captured is listened to for ever.
    if (load(words_.started) <= epoch_) {
      if (expected_.load(std::memory_order_relaxed) > epoch_) return Outcome::waiting;
      return replayed_.load(std::memory_order_relaxed) ? Outcome::listening : Outcome::idle;
    }
    ++epoch_;
    under_way_ = starting_ = true;
  }
  if (starting_) {
    if (!plan_.start_step(*this)) return Outcome::waiting;
    starting_ = false;
    if (!plan_.poll_step(*this)) return Outcome::moved;
  } else if (!plan_.poll_step(*this)) {
    return Outcome::waiting;
  }
  under_way_ = false;
  if (plan_.poisoned())
    end_waits();
  else
    complete(epoch_);
  return Outcome::moved;
}

// The wait behind the gate finds what it waits for. That no epoch will be complete stands in no
// word of the gate, so a fence keeps whoever closes the gate behind this from missing it.
void RelayedPair::complete(std::uint64_t epoch) noexcept {
  std::atomic_ref(words_.completed).store(epoch, std::memory_order_release);
  if (epoch == relay::no_more) std::atomic_thread_fence(std::memory_order_seq_cst);
  PostingGate gate{words_.gate};
  protocol::gate::post(gate, epoch_);
}

void RelayedPair::end_waits() noexcept {
  over_ = true;
  complete(relay::no_more);
}

// What is under way ends when nothing of it moves any more: the stream uses the buffer then.
void RelayedPair::poison() noexcept {
  if (over_) return;
  plan_.poison();
  if (!under_way_) end_waits();
}

void RelayedPair::close() noexcept {
  if (plan_.poisoned()) end_waits();
  over_ = true;
  plan_.close();
}

// One that was idle is not poisoned, and nothing of it moves.
bool RelayedPair::untouched() const noexcept {
  return !poisoned() || load(words_.completed) == relay::no_more;
}

Error RelayedPair::error() const {
  if (const Error* const error = error_.get()) return *error;
  return Error(ErrorKind::transport,
               "the pair was given up when another queue failed; free the request");
}

}  // namespace penstock::relay
