// SPDX-License-Identifier: Apache-2.0
#include "peer_gpu/gate.hpp"

#include "gpu/gate_stand.hpp"

namespace penstock::peer_gpu {

using protocol::Mode;

namespace {

// The wait of a small standard or ready send has no kernel: what it waits for, room, the next start
// waits for.
bool leaves_wait_to_start(const Pair& pair) noexcept {
  return is_ring(pair.path) && pair.mode != protocol::Mode::synchronous;
}

// Large ready: the sender waits for nothing. An origin waits for the target's post.
bool sender_waits(const Pair& pair) noexcept {
  return is_ring(pair.path) || pair.mode != protocol::Mode::ready;
}

// Its start has no kernel: what the target waits for is said by the wait.
bool says_by_wait(const Pair& pair) noexcept {
  return pair.path == Path::window && pair.sends;
}

}  // namespace

// A receiver's wait is for the send's start. A sender waits for the start of the receive, or for
// room: for a wait of the receiver's.
bool start_passes_gate(const Pair& pair) noexcept {
  return pair.sends && leaves_wait_to_start(pair);
}
bool wait_passes_gate(const Pair& pair) noexcept {
  return !pair.sends || (sender_waits(pair) && !leaves_wait_to_start(pair));
}
bool start_opens_gate(const Pair& pair) noexcept {
  if (says_by_wait(pair)) return false;
  return pair.sends || (sender_waits(pair) && !leaves_wait_to_start(pair));
}
bool wait_opens_gate(const Pair& pair) noexcept {
  return says_by_wait(pair) || (!pair.sends && leaves_wait_to_start(pair));
}

cudaError_t stand_at_gates(const Launch& launch, std::span<const Gating> gates) {
  static_assert(largest_batch <= gpu::GateStand::most);
  if (const cudaError_t code = close_gates(launch, gates); code != cudaSuccess) return code;
  gpu::GateStand stand(*launch.report);
  for (const Gating& each : gates) stand.add(each.id, each.passes->words);
  return stand.enqueue(launch.stream);
}

}  // namespace penstock::peer_gpu
