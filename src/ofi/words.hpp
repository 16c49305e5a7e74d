// SPDX-License-Identifier: Apache-2.0
// The words of one half of a pair, which lie in its own process: the provider adds to them, the
// stream polls them. They only grow.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "protocol/epoch.hpp"

namespace penstock::ofi {

struct alignas(64) PairWords {
  // Epochs complete here: a send's writes are placed, a receive's message has arrived.
  std::uint64_t done = 0;
  std::uint64_t consumed = 0;  // sender: epochs that the receiver has taken out of its slots
  std::uint64_t cts = 0;       // sender: receives started
  std::uint64_t closed = 0;    // the peer's notice, both words of it: see closing_word()
  std::uint64_t parting = 0;   // and protocol::parting_word()
  std::uint64_t nothing = 0;   // where messages of no bytes leave from and arrive
  std::uint64_t taken = 0;     // receiver: epochs taken out of its slots; a sender may read it
  std::uint64_t seen = 0;      // sender: what its last reading of `taken` has brought
};
static_assert(sizeof(PairWords) == 64);
static_assert(offsetof(PairWords, parting) == offsetof(PairWords, closed) + sizeof(std::uint64_t));

// The race detector knows these two by their names (tests/sanitizers/tsan-mpich.supp), which
// inlined functions keep only where it can read the debugging information.
#ifdef __SANITIZE_THREAD__
#define PENSTOCK_NAMED_FRAME [[gnu::noinline]]
#else
#define PENSTOCK_NAMED_FRAME
#endif

// Acquire orders the payload before its use, and the provider's last look at a buffer before it is
// written again.
PENSTOCK_NAMED_FRAME inline std::uint64_t load(const std::uint64_t& word) noexcept {
  return std::atomic_ref(const_cast<std::uint64_t&>(word)).load(std::memory_order_acquire);
}
PENSTOCK_NAMED_FRAME inline void store(std::uint64_t& word, std::uint64_t value) noexcept {
  std::atomic_ref(word).store(value, std::memory_order_release);
}

// "The peer serves epochs from this one on no more", and why (base::ErrorKind), in one word, since
// two could be seen apart.
constexpr std::uint64_t closing_word(protocol::Epoch first, int reason) noexcept {
  return first << 8 | static_cast<std::uint64_t>(reason);
}
constexpr protocol::Epoch closed_epoch(std::uint64_t word) noexcept {
  return word >> 8;
}
constexpr int closing_reason(std::uint64_t word) noexcept {
  return static_cast<int>(word & 0xff);
}

}  // namespace penstock::ofi
