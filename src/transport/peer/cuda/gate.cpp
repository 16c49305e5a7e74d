// SPDX-License-Identifier: Apache-2.0
#include "transport/peer/cuda/gate.hpp"

#include "device/cuda/word_operations.hpp"

namespace penstock::transport::peer::cuda {

using protocol::Mode;

namespace {

// The wait of a small standard or ready send has no kernel: what it waits for, room, the next start waits for.
bool leaves_wait_to_start(const Pair& pair) noexcept {
  return is_ring(pair.route) && pair.mode != Mode::synchronous;
}

// Large ready: the sender waits for nothing.
bool sender_waits(const Pair& pair) noexcept {
  return is_ring(pair.route) || pair.mode != Mode::ready;
}

Gating gating(const Pair& pair, bool starts, Gate* passes, Gate* posts) noexcept {
  return {passes, posts, pair.half, pair.fate, pair.id, starts};
}

}  // namespace

// A receiver's wait is for the send's start. A sender waits for the start of the receive, or for room: for a wait of
// the receiver's.
Gating gating_of_start(const Pair& pair, Gate* ours, Gate* theirs) noexcept {
  const bool posts = pair.sends || (sender_waits(pair) && !leaves_wait_to_start(pair));
  const bool passes = pair.sends && leaves_wait_to_start(pair);
  return gating(pair, true, passes ? ours : nullptr, posts ? theirs : nullptr);
}

Gating gating_of_wait(const Pair& pair, Gate* ours, Gate* theirs) noexcept {
  const bool posts = !pair.sends && leaves_wait_to_start(pair);
  const bool passes = !pair.sends || (sender_waits(pair) && !leaves_wait_to_start(pair));
  return gating(pair, false, passes ? ours : nullptr, posts ? theirs : nullptr);
}

// The host learns at which gate the stream stands: there is no kernel that could say so.
cudaError_t stand_at_gates(const Launch& launch, std::span<const Gating> gates) {
  device::cuda::WordOperations operations;
  static_assert(2 * largest_batch + 1 <= device::cuda::WordOperations::most);
  for (const Gating& each : gates) {
    if (each.passes == nullptr) continue;
    operations.store(launch.report->gated, each.id + 1);
    operations.await(each.passes->open, 1);
  }
  if (operations.empty()) return cudaSuccess;
  operations.store(launch.report->gated, 0);
  return operations.enqueue(launch.stream);
}

}  // namespace penstock::transport::peer::cuda
