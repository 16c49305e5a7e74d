// SPDX-License-Identifier: Apache-2.0
// What one half of a pair has of its own on its device, and how its ring lies: for our kernels, and
// for those of programs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/flag_bits.hpp"
#include "gpu/words.hpp"
#include "protocol/gate.hpp"
#include "protocol/ring.hpp"

namespace penstock::peer_gpu {

using gpu::Cell, gpu::Word64, gpu::cell_payload, gpu::device_line;

// A message is cut into parts, and FIN and DONE are said of each part by the block that has moved
// it: so no block waits for another one. Each part of a ring is a ring of its own, with cells, FIN
// and private words.
inline constexpr unsigned most_parts = 64;

// The private words of one half for one part, on its own device, touched in stream order only.
struct alignas(32) PartWords {
  Word64 done;     // as protocol::SendState and ReceiveState have it
  Word64 started;  // the last start: see started(). Of a rendezvous, what is left stands in part 0
  // Used in part 0 only. The first block tells the others which kernel and epoch this is, and what
  // to copy.
  Word64 command;
  // Used in part 0 only: the first epoch that is served no more because something has failed; 0:
  // there is none.
  Word64 given_up;
};

// All of a half's private words.
struct PrivateWords {
  PartWords part[most_parts];
  Word64 relief;   // of the kernel that serves this pair first (protocol/relief.hpp)
  Word64 through;  // how many blocks are through with their copies (protocol/team.hpp)
  // Of a half that kernels of the program's may use: a number that no other half has had; 0: of
  // none, or of one that has been freed. So a handle that outlives its request is found out.
  Word64 life;
};

inline PENSTOCK_HD PrivateWords& words_of(PartWords* words) {
  return *reinterpret_cast<PrivateWords*>(words);
}

// What a start leaves to its wait: nothing, the message itself, or the check that its copy is still
// valid.
enum class Left : std::uint8_t { nothing, message, copy };

// The word holds the epoch, so it is never cleared: late blocks of a wait can still read it, and a
// start sees whether the start before it has had its wait.
PENSTOCK_HD constexpr Word64 started(protocol::Epoch epoch, Left left) noexcept {
  return epoch << 2 | static_cast<Word64>(left);
}
PENSTOCK_HD constexpr protocol::Epoch last_started(const PartWords& words) noexcept {
  return words.started >> 2;
}
PENSTOCK_HD constexpr bool has_started(Word64 last_start, protocol::Epoch epoch) noexcept {
  return last_start >> 2 == epoch;
}
PENSTOCK_HD constexpr bool has_started(const PartWords& words, protocol::Epoch epoch) noexcept {
  return has_started(words.started, epoch);
}

// In pinned memory of the host: what a half's kernels and the host tell each other when it ends.
struct alignas(64) HostNotice {
  PartWords last;   // a copy, made when the half is freed
  Word64 given_up;  // kernels: as in PartWords
  // The host writes that the peer's process has ended: nothing more is stored into its memory.
  Word64 peer_dead;
  Word64 gated;    // kernels: the epoch that stands at the gate next
  Word64 awaited;  // kernels: the epoch of a wait that lasts
};

// In host memory that both processes' devices address: so the host can open it without a call that
// might itself wait for the device.
struct alignas(64) Gate {
  protocol::gate::GateWords words;
};

inline constexpr unsigned wide_cells = device_line / sizeof(Cell);
inline constexpr std::size_t wide_payload = device_line - sizeof(Word64);

// The rings of kernels are Deferred (protocol/port.hpp): FIN at the end of a wait would hold up the
// stream until the peer's memory has answered; at the beginning of the next wait that time passes
// while the message is awaited. A power of two makes the choice of a slot cheap.
inline constexpr bool rings_are_deferred = true;
inline constexpr unsigned ring_slots = 4;
static_assert(ring_slots >= protocol::ring::least_slots(rings_are_deferred));
static_assert(std::uint64_t{1} << PENSTOCK_FLAG_BITS > ring_slots,
              "a line's flag must tell the epochs of a slot apart");

}  // namespace penstock::peer_gpu
