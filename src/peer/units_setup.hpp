// SPDX-License-Identifier: Apache-2.0
// The memory that both ends of a channel by words address, as a port of either has it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "peer/control.hpp"
#include "peer/exposed_memory.hpp"

namespace penstock::peer {

// The words of an end before those of its units. CLOSED and GONE are stored by the other end.
struct alignas(cache_line) UnitsBlock {
  std::uint64_t closed;  // 0, or why it serves no more
  std::uint64_t gone;    // its last store into this block
  // At the sender, by its own threads: the calls that may be writing.
  alignas(cache_line) std::uint64_t writing;
};

// In CLOSED.
enum class WhyClosed : std::uint64_t { open, freed, given_up };

// What is fixed at the match, for a port.
struct UnitsSetup {
  UnitsBlock* ours = nullptr;
  UnitsBlock* theirs = nullptr;
  std::uint64_t* writing = nullptr;   // the sender's
  std::uint64_t* released = nullptr;  // by unit, at the sender
  // By unit, at the receiver, so many bytes apart: in lines behind the message.
  std::byte* arrived = nullptr;
  std::size_t arrived_stride = sizeof(std::uint64_t);
  std::byte* buffer = nullptr;    // the program's
  std::byte* shadow = nullptr;    // of the receive buffer, or null
  RemoteMemory target;            // the sender's: where it writes to
  std::size_t target_stride = 0;  // of units there, and in the shadow
  std::uint64_t bytes = 0;
  std::uint64_t unit_bytes = 0;
};

}  // namespace penstock::peer
