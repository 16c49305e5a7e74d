// SPDX-License-Identifier: Apache-2.0
// Epochs count the starts of one matched operation: 1 for the first, 64 bits, never reset. Only
// line flags are narrow.
#pragma once

#include <cstdint>

#include "base/host_device.hpp"

namespace penstock::protocol {

using Epoch = std::uint64_t;

// In a word that tells up to which epoch everything is complete: no later one will be.
inline constexpr Epoch no_more = ~Epoch{0};

// How the send was made; both ends know it from the handshake.
enum class Mode : std::uint8_t { standard, synchronous, ready, buffered };

enum class Side : std::uint8_t { sender, receiver };

enum class Progress : std::uint8_t { pending, ended };

enum class StartOutcome : std::uint8_t {
  started,
  no_buffer,  // buffered: every slot still holds a message that the receiver has not taken
  receiver_not_started,  // ready, checked: the promise was broken
  peer_closed            // the receiver serves this epoch no more
};

// The flag of an epoch in a line. A slot's stale flag is that of epoch - slots, so 2^bits > slots
// makes them differ.
PENSTOCK_HD constexpr std::uint64_t line_flag(Epoch epoch, unsigned bits) {
  return bits >= 64 ? epoch : epoch & ((std::uint64_t{1} << bits) - 1);
}

// A process that frees its half, or gives the pair up, writes last_epoch_served + 1 to the peer's
// CLOSED word (0: open).
PENSTOCK_HD constexpr bool closed_before(std::uint64_t closed, Epoch epoch) {
  return closed != 0 && epoch >= closed;
}

}  // namespace penstock::protocol
