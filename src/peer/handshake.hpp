// SPDX-License-Identifier: Apache-2.0
// What two processes tell each other about the peer transport: once at initialisation, and twice
// for each pair. Both ends run the same library on the same host, so the records travel as they lie
// in memory. The version refuses a peer that runs another library (transport/wire_record.hpp).
#pragma once

#include <cstdint>

#include "peer/arena.hpp"
#include "peer/exposed_memory.hpp"
#include "transport/wire_record.hpp"

namespace penstock::peer {

inline constexpr std::uint64_t handshake_version = 0x70656e73746f0007;

struct AddressRecord {
  std::uint64_t version = handshake_version;
  std::uint32_t usable = 0;
  std::int32_t process = 0;
  std::uint32_t flag_bits = 0;
  std::uint32_t padding = 0;
  // Address of 1 + (number of processes) words: the first holds the arena's first nonce, to be read
  // across; the others are for the processes of that rank to be written across.
  std::uint64_t probe = 0;
  ArenaIdentity arena;
};

// The end that comes first sends it: in a sender's offer, or in the invitation of a receiver that
// will not act again.
struct OpenRecord {
  std::uint64_t version = handshake_version;
  std::uint64_t eager_max = 0;  // the sender's count
  std::uint32_t slots = 0;      // the sender's count
  std::uint32_t checks_ready = 0;
  std::uint32_t across = 0;      // it gets at the other's memory by cross-memory copy
  std::uint32_t list_stays = 0;  // its list of segments is too long to travel
  MemoryRecord buffer;
  ArenaAddress block;
};

// The end that comes second, and has decided all, sends it.
struct ChoiceRecord {
  std::uint64_t version = handshake_version;
  std::uint64_t bytes = 0;  // of the message
  std::uint32_t path = 0;
  std::uint32_t mode = 0;
  std::uint32_t line_bytes = 0;
  std::uint32_t slots = 0;
  std::uint32_t parts = 1;
  std::uint32_t checks_ready = 0;
  std::uint32_t why_staged = 0;
  std::uint32_t padding = 0;
  MemoryRecord buffer;
  ArenaAddress block;  // the ring follows
};

}  // namespace penstock::peer
