// SPDX-License-Identifier: Apache-2.0
// What the kernels of the GPU form work on: the words of a pair, and the descriptors that a launch
// carries.
#pragma once

#include <cstddef>
#include <cstdint>

#include "datatype/rows.hpp"
#include "peer_gpu/half_words.hpp"

namespace penstock::peer_gpu {

using datatype::Rows, datatype::alignment_of;

// The most threads a block of ours has. With 256, messages from 128 KiB on took 8 to 20 % longer.
inline constexpr unsigned most_threads = 512;

// `closed` is the kernels' CLOSED word. Only a rendezvous uses it: a ring's kernels never touch the
// other end's buffer. It lies beside the words that its reader looks at anyway. Hosts have words of
// their own, in host memory (EndWords).
struct alignas(device_line) SenderWords {
  Word64 cts, closed, pull, push, claim;
  alignas(device_line) Word64 fin[most_parts];
};

// The slots of a ring follow.
struct alignas(device_line) ReceiverWords {
  Word64 rts, closed;
  alignas(device_line) Word64 done[most_parts];
};

// In host memory, zero at first. The other end's host writes here about its own end.
struct alignas(64) EndWords {
  Word64 closed;  // the first epoch that it serves no more: as soon as it is known
  Word64 gone;    // not 0: all its kernels for the pair have ended, and none stores into our words
                  // any more
};

// ring: small messages, in cells that carry their own flags. wide_ring: the same in lines of 128
// bytes, where the link carries such a line whole. rendezvous: from buffer to buffer. window: what
// the origin of one-sided epochs has listed, from memory to memory.
enum class Path : std::uint8_t { ring, wide_ring, rendezvous, window };

PENSTOCK_HD constexpr bool is_ring(Path path) noexcept {
  return path == Path::ring || path == Path::wide_ring;
}

// A ring's messages are counted in cells, or in wide lines.
PENSTOCK_HD constexpr std::uint64_t units_for(Path path, std::uint64_t bytes) noexcept {
  const std::size_t payload = path == Path::ring ? cell_payload : wide_payload;
  return bytes == 0 ? 1 : (bytes + payload - 1) / payload;
}
PENSTOCK_HD constexpr std::uint64_t slot_cells(Path path, std::uint64_t bytes) noexcept {
  return units_for(path, bytes) * (path == Path::ring ? 1 : wide_cells);
}

// The parts in which an origin moves an epoch, each by one block; the target waits for all of them.
// Its blocks keep their places while they wait for the post: as many as a wait's of a rendezvous.
inline constexpr unsigned most_window_parts = 16;
// What a slot of a window's pair may hold besides HEAD, in bytes: one block takes it out.
inline constexpr std::size_t most_window_eager = 16 * 1024;

// One half of a pair, as one of its kernels knows it: fixed at match, carried by value in every
// launch.
//
// The first read of each 64-byte line of a kernel's arguments takes time. So the fields that a
// message needs come first, and the rest last (gpu/kernel_batch.cuh).
struct Pair {
  PartWords* words = nullptr;  // one for each part
  HostNotice* notice = nullptr;
  SenderWords* sender = nullptr;
  ReceiverWords* receiver = nullptr;  // ring: the first slot follows
  std::byte* buffer = nullptr;        // ours
  std::byte* other = nullptr;         // the other end's, as this device addresses it; not of a ring
  Gate* posts = nullptr;              // the peer's, which this kernel opens
  std::uint64_t bytes = 0;
  std::uint64_t share = 0;  // of each part: bytes, or units of a ring
  // Ring, and window: units of a slot, without HEAD. The memory of a GPU has fewer units than this
  // can count.
  std::uint32_t units = 0;
  std::uint16_t parts = 1;
  bool native_atomics = false;
  bool checks_ready = false;
  bool gated = false;  // this kernel stands behind a gate
  bool sends = false;
  Path path = Path::ring;
  protocol::Mode mode = protocol::Mode::standard;
  std::uint32_t id = 0;        // in reports
  Rows rows;                   // how the message lies in our buffer
  std::uint16_t blocks = 1;    // of this kernel: as many as parts, or fewer
  std::uint16_t threads = 32;  // of a block, at least
  std::uint8_t work = 0;       // which of works.cuh this kernel does
  Rows other_rows;             // rendezvous: how it lies at the other end
};

inline PENSTOCK_HD PrivateWords& words_of(const Pair& pair) {
  return words_of(pair.words);
}

inline PENSTOCK_HD Cell* ring_of(const Pair& pair) {
  return reinterpret_cast<Cell*>(pair.receiver + 1);
}

inline constexpr int largest_batch = 32;

}  // namespace penstock::peer_gpu
