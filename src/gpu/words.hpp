// SPDX-License-Identifier: Apache-2.0
// What kernels of all GPU forms work on: words that other processors look at, and how a queue's
// kernels report.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::gpu {

using Word64 = std::uint64_t;

// Everything that two devices poll lies in memory of the polling one, in lines of its own.
inline constexpr std::size_t device_line = 128;

// What a thread loads and stores in one instruction. A cell by itself holds 8 bytes of data in two
// halves, each beside its flag, so that each half needs only the 64-bit accesses that the memory
// model has. What it holds in a wide line is in peer_gpu/lines.cuh.
struct alignas(16) Cell {
  Word64 low, high;
};
inline constexpr std::size_t cell_payload = 8;

enum class Failure : std::uint32_t {
  none,
  released,        // a wait, by the host
  not_ready,       // ready, checked: the receive had not been started
  promise_broken,  // ready: a later message was pushed over this one
  peer_closed,     // the peer serves the epoch no more: what was copied does not count
  given_up,        // this half serves no more: its plan knows why
  started_twice,   // a start follows a start
  // By kernels of the program's:
  not_started,  // a wait without a start
  waits_late,   // a wait in a block beyond those that may
  block_shape,  // the block's threads are not in whole rows
  shares,       // several blocks receive a synchronous message
  handle_freed  // the request of a handle has been freed
};

// In pinned memory of the host: how a queue's kernels and the host talk when something takes long
// or goes wrong.
struct alignas(64) Report {
  Word64 abort;  // host: end every wait
  // Kernels write 1 + the id of a plan whose wait lasts longer than a moment, or 0.
  Word64 waiting;
  Word64 failed;        // kernels: Failure in the upper half, 1 + the id of the plan in the lower
  std::uint32_t gated;  // the stream itself: 1 + the id of a plan at whose gate it stands, or 0
  std::uint32_t room;   // host: how many blocks of this process may wait for long on the device
  Word64* crowd;        // host: where kernels count those that do; in the device's memory
};

// In device memory: once set, the queue's later starts do nothing, so that stale data is never sent
// on as good, and its waits end at once.
struct alignas(device_line) QueueFailure {
  Word64 failed;
};

}  // namespace penstock::gpu
