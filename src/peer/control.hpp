// SPDX-License-Identifier: Apache-2.0
// What a matched pair keeps in shared memory. Each block lies in the arena of the process that
// polls it, is zero before either side may use it, and is reused only after both sides have closed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::peer {

inline constexpr std::size_t cache_line = 64;

// This block lies in the sender's arena. The receiver writes its first line in every epoch, and the
// sender the second one in every push. CLOSED has a line apart from both, because the threads that
// enqueue look at it before every start and must not take a busy line away from the two workers.
struct alignas(cache_line) SenderBlock {
  std::uint64_t cts;
  std::uint64_t fin;
  std::uint64_t pull;
  std::uint64_t pulled_parts;  // by both, by compare-and-swap: see parts.hpp
  alignas(cache_line) std::uint64_t push;
  std::uint64_t claim;
  alignas(cache_line) std::uint64_t closed;  // by the receiver, its last store into this block
};

// This block lies in the receiver's arena; a ring's slots follow. Without a rendezvous only
// `closed` is ever written.
struct alignas(cache_line) ReceiverBlock {
  std::uint64_t rts;
  std::uint64_t done;
  std::uint64_t pushed_parts;  // by both, by compare-and-swap: see parts.hpp
  std::uint64_t closed;        // by the sender, its last store into this block
};

static_assert(sizeof(SenderBlock) == 3 * cache_line);
static_assert(sizeof(ReceiverBlock) == cache_line);

// How a message lies in a slot: lines of `line_bytes`, each ending with its flag word. A message of
// no bytes is one line with a flag.
struct Cut {
  std::size_t message_bytes = 0;
  std::uint32_t line_bytes = cache_line;
  std::uint32_t slots = 2;
  std::uint32_t parts = 1;  // of a rendezvous, for two processors to copy

  std::size_t payload() const noexcept { return line_bytes - sizeof(std::uint64_t); }
  std::uint32_t lines() const noexcept {
    return message_bytes == 0
               ? 1
               : static_cast<std::uint32_t>((message_bytes + payload() - 1) / payload());
  }
  std::size_t slot_bytes() const noexcept { return std::size_t{lines()} * line_bytes; }
  std::size_t ring_bytes() const noexcept { return slots * slot_bytes(); }
};

}  // namespace penstock::peer
