// SPDX-License-Identifier: Apache-2.0
// Kernels that begin only when there is something for them to find (protocol/gate.hpp). Ranks that
// take turns on a GPU need them: a kernel that looks again and again keeps the device from the rank
// it waits for. So do the waits of more queues than a device has places for kernels that wait
// (gpu/wait_places.hpp).
#pragma once

#include <gpu_runtime.hpp>
#include <span>

#include "gpu/launch.hpp"
#include "peer_gpu/batch.hpp"

namespace penstock::peer_gpu {

using gpu::Launch;

// The gate before one kind of call of a half, start or wait.
struct Gating {
  Gate* passes = nullptr;  // ours; null: the call never waits
  const PartWords* words = nullptr;
  HostNotice* notice = nullptr;
  std::uint32_t id = 0;  // in reports
  bool starts = false;   // the call is a start
  // The peer must have posted the epoch that is so many before the call's own. Where it is not 0,
  // the first ring_slots epochs need none.
  std::uint8_t epochs_back = 0;

  explicit operator bool() const noexcept { return passes != nullptr; }
};

// Whether a call of this half may have to wait for the peer, and whether one is what the peer's
// call waits for.
bool start_passes_gate(const Pair& pair) noexcept;
bool wait_passes_gate(const Pair& pair) noexcept;
bool start_opens_gate(const Pair& pair) noexcept;
bool wait_opens_gate(const Pair& pair) noexcept;

// At most largest_batch of them, before the kernel of a call: each is closed, unless what it is for
// has been posted.
cudaError_t stand_at_gates(const Launch& launch, std::span<const Gating> gates);
// Launches behind the gates of a call, if there are any. All of them come first: each wait ends
// once the peer's start has run, so all of them do when all starts have.
template <class LaunchCall>
cudaError_t behind_gates(const Launch& launch, std::span<const Gating> gates, LaunchCall call) {
  if (gates.empty()) return call(launch);
  if (const cudaError_t code = stand_at_gates(launch, gates); code != cudaSuccess) return code;
  Launch behind = launch;
  behind.dependent = false;  // on a kernel, which a gate is not
  return call(behind);
}

cudaError_t close_gates(const Launch& launch, std::span<const Gating> gates);
cudaError_t load_gate_kernel(const Launch& launch);

}  // namespace penstock::peer_gpu
