// SPDX-License-Identifier: Apache-2.0
// What the kernels of the CUDA form work on: the words of a pair, and the descriptors that a launch carries.
#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/epoch.hpp"

#ifndef PENSTOCK_FLAG_BITS
#define PENSTOCK_FLAG_BITS 32
#endif

namespace penstock::transport::peer::cuda {

using Word64 = std::uint64_t;

// Everything that two devices poll lies in memory of the polling one, in lines of its own.
inline constexpr std::size_t device_line = 128;

// A message is cut into parts, and FIN and DONE are said of each part by the block that has moved it: so no block waits
// for another one. Each part of a ring is a ring of its own, with cells, FIN and private words.
inline constexpr unsigned most_parts = 64;

struct alignas(device_line) SenderWords {
  Word64 cts, pull, push, claim;
  alignas(device_line) Word64 fin[most_parts];
};

// The slots of a ring follow.
struct alignas(device_line) ReceiverWords {
  Word64 rts;
  alignas(device_line) Word64 done[most_parts];
};

// The private words of one half for one part, on its own device, touched in stream order only.
struct alignas(32) Half {
  Word64 done;     // as protocol::SendState and ReceiveState have it
  Word64 posted;   // rendezvous: as SendState has it, set by starts. Ring: a start has run whose wait has not
  Word64 command;  // part 0's: from the first block to the others, for which kernel of which epoch, and what is to be
                   // copied
};

// A ring's slot is made of cells: 8 bytes of data in two halves, each beside its flag, so that each half needs only the
// 64-bit accesses that the memory model has.
struct alignas(16) Cell {
  Word64 low, high;
};
inline constexpr std::size_t cell_payload = 8;

PENSTOCK_HD constexpr std::uint64_t cells_for(std::uint64_t bytes) noexcept {
  return bytes == 0 ? 1 : (bytes + cell_payload - 1) / cell_payload;
}

// Receivers say FIN one epoch late (see kernels.cu). wait(send, e) needs FIN of epoch e + 1 - slots, and when receive e
// is started, the wait of e - 1 has ended and that of e - 2 has been told: so the least is three. A power of two makes
// the choice of a slot cheap.
inline constexpr unsigned ring_slots = 4;
static_assert(std::uint64_t{1} << PENSTOCK_FLAG_BITS > ring_slots,
              "a line's flag must tell the epochs of a slot apart");

enum class Route : std::uint8_t { ring, rendezvous };

// One half of a pair, as one of its kernels knows it: fixed at match, carried by value in every launch.
struct Pair {
  Half* half = nullptr;  // one for each part
  SenderWords* sender = nullptr;
  ReceiverWords* receiver = nullptr;
  Cell* cells = nullptr;        // ring: the first slot
  std::byte* buffer = nullptr;  // ours
  std::byte* other = nullptr;   // rendezvous: the other end's, as this device addresses it
  std::uint64_t bytes = 0;
  std::uint64_t share = 0;  // of each part: bytes, or cells of a ring
  std::uint32_t id = 0;     // in reports
  std::uint16_t parts = 1;
  std::uint16_t blocks = 1;    // of this kernel: as many as parts, or fewer
  std::uint16_t threads = 32;  // of a block, at least
  protocol::Mode mode = protocol::Mode::standard;
  Route route = Route::ring;
  bool sends = false;
  bool native_atomics = false;
  bool checks_ready = false;
};

enum class Failure : std::uint32_t { none, released, not_ready, promise_broken };

// In pinned memory of the host: how a queue's kernels and the host talk when something takes long or goes wrong.
struct alignas(64) Report {
  Word64 abort;    // host: end every wait
  Word64 waiting;  // kernels: 1 + the id of a pair that has been waited for longer than a moment, or 0
  Word64 epoch;    // of that pair
  Word64 failed;   // kernels: Failure in the upper half, 1 + the id of the pair in the lower
};

// In device memory: once set, the queue's later kernels do nothing, so that stale data is never sent on as good.
struct alignas(device_line) Sticky {
  Word64 failed;
};

template <int capacity>
struct Batch {
  Report* report = nullptr;
  Sticky* sticky = nullptr;
  int count = 0;
  Pair pair[capacity];
};

inline constexpr int largest_batch = 32;

}  // namespace penstock::transport::peer::cuda
