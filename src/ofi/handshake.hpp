// SPDX-License-Identifier: Apache-2.0
// What two processes tell each other: once at initialisation, and for each pair. Both run the
// same library, so the records travel as they lie in memory; the version catches what is not so.
#pragma once

#include <cstdint>

#include "ofi/remote_address.hpp"
#include "transport/wire_record.hpp"

namespace penstock::ofi {

inline constexpr std::uint64_t handshake_version = 0x70656e7374660004;

struct AddressRecord {
  std::uint64_t version = handshake_version;
  std::uint32_t usable = 0;
  std::uint32_t name_bytes = 0;
  char provider[32] = {};
  std::byte name[128] = {};  // of the endpoint
};

// Which way the messages of a pair take: see OfiEngine::cut_for().
enum class Path : std::uint32_t { ring, rendezvous, ready };

// How a message is divided.
struct Cut {
  std::uint64_t bytes = 0;  // of the message
  std::uint64_t part_bytes = 0;
  std::uint32_t parts = 1;  // writes a message
  Path path = Path::ring;
  std::uint32_t slots = 0;  // of a ring
  std::uint32_t padding = 0;

  // A message of no bytes is one byte of nothing, since only a write is counted.
  std::uint64_t wire_bytes() const noexcept { return bytes > 0 ? bytes : 1; }
  std::uint64_t slot_bytes() const noexcept { return (wire_bytes() + 63) / 64 * 64; }
};

struct OfferRecord {
  std::uint64_t version = handshake_version;
  Cut cut;
  RemoteAddress words;
  RemoteAddress cts;  // of a rendezvous: writes there count on the sender's trigger
};

struct AnswerRecord {
  std::uint64_t version = handshake_version;
  RemoteAddress words;
  RemoteAddress landing;  // the receive buffer, or the slots
};

// Of the ends of a window's pairs.
struct OriginRecord {
  RemoteAddress words;
  RemoteAddress posts;  // additions there count on the origin's trigger
};

struct TargetRecord {
  RemoteAddress words;
  RemoteAddress window;  // its first byte
  RemoteAddress page;    // of accumulates
  std::uint64_t page_bytes = 0;
};

struct WindowRecord {
  OriginRecord origin;
  TargetRecord target;
};

}  // namespace penstock::ofi
