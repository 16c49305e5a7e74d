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
  // Sender: epochs that the receiver has taken out of its slots. Target: epochs that the origin has
  // completed.
  std::uint64_t consumed = 0;
  std::uint64_t cts = 0;      // sender: receives started
  std::uint64_t closed = 0;   // the peer's notice, both words of it: see closing_word()
  std::uint64_t parting = 0;  // and protocol::parting_word()
  std::uint64_t nothing = 0;  // where messages of no bytes leave from and arrive
  // Receiver: epochs taken out of its slots; a sender may read it. A window's end: pages of
  // accumulates, those that have come or those that the target has applied.
  std::uint64_t taken = 0;
  std::uint64_t seen = 0;  // sender: what its last reading of `taken` has brought
};
static_assert(sizeof(PairWords) == 64);
static_assert(offsetof(PairWords, parting) == offsetof(PairWords, closed) + sizeof(std::uint64_t));

#ifdef __SANITIZE_THREAD__
extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

// A provider that is no NIC copies into the words, and out of them, by memcpy, which the race
// detector takes for a race with the accesses below. They are hidden from it while one of these
// lives; their order is not. A suppression by function would not do: the detector forgets the stack
// of a poll that is long ago.
struct Unseen {
#ifdef __SANITIZE_THREAD__
  Unseen() noexcept {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~Unseen() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
#else
  Unseen() noexcept {}
  ~Unseen() {}
#endif
  Unseen(const Unseen&) = delete;
  Unseen& operator=(const Unseen&) = delete;
};

// Acquire orders the payload before its use, and the provider's last look at a buffer before it is
// written again.
inline std::uint64_t load(const std::uint64_t& word) noexcept {
  const Unseen unseen;
  return std::atomic_ref(const_cast<std::uint64_t&>(word)).load(std::memory_order_acquire);
}
inline void store(std::uint64_t& word, std::uint64_t value) noexcept {
  const Unseen unseen;
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
