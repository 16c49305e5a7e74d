// SPDX-License-Identifier: Apache-2.0
// One half of a pair as transports see it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/memory.hpp"
#include "group/layout.hpp"
#include "protocol/epoch.hpp"

namespace penstock::transport {

using WireRecord = std::vector<std::byte>;
using datatype::Segments;
using protocol::Epoch;
using protocol::Mode;

enum class Direction : std::uint8_t { send, receive };
using device::MemoryKind;

inline constexpr char undescribed_text[] =
    "its datatype has more than 2^24 pieces that no loop describes, or is one that MPI alone can "
    "take apart";

struct Message {
  Direction direction = Direction::send;
  Mode mode = Mode::standard;  // how the send was made; a receive learns it from the handshake
  void* buffer = nullptr;      // where the lowest byte of the datatype lies
  // A send's message, or a receive's room. Both ends' plans move the send's bytes.
  std::size_t bytes = 0;
  MemoryKind memory = MemoryKind::host;
  int gpu = -1;  // whose memory it is, where it is a GPU's
  // The datatype; layout->contiguous() says whether buffer and bytes describe it all.
  std::shared_ptr<const group::Layout> layout;
  int peer = -1;  // world rank
  // Used on streams of the host alone, whatever other streams the process has.
  bool on_host_streams = false;

  // Null: the bytes lie without gaps, or MPI alone knows how; see layout->contiguous().
  std::shared_ptr<const Segments> segments() const { return layout ? layout->segments() : nullptr; }
  bool has_gaps() const { return segments() != nullptr; }  // that we know
  // Whether a transport without MPI can find the bytes.
  bool described() const { return !layout || layout->contiguous() || layout->segments(); }
  // From the lowest byte to behind the highest.
  std::size_t span_bytes() const {
    const auto gaps = segments();
    return gaps ? static_cast<std::size_t>(gaps->span().end) : bytes;
  }
};

}  // namespace penstock::transport
