// SPDX-License-Identifier: Apache-2.0
// Kernels that begin only when there is something for them to find (protocol/gate.hpp): for ranks that take turns on a
// GPU, where a kernel that looks again and again keeps the device from the rank it waits for.
#pragma once

#include <gpu_runtime.hpp>
#include <span>

#include "transport/cuda/launch.hpp"
#include "transport/peer/cuda/batch.hpp"

namespace penstock::transport::peer::cuda {

// In host memory that both processes' devices address: so the host can open it without a call that might itself wait
// for the device.
struct alignas(64) Gate {
  Word64 posted;
  std::uint32_t open;
};

// What one kind of call of a half, start or wait, has to do with gates.
struct Gating {
  Gate* passes = nullptr;  // ours, before the call's kernel
  Gate* posts = nullptr;   // the peer's, after it
  const Half* half = nullptr;
  Fate* fate = nullptr;
  std::uint32_t id = 0;  // in reports
  bool starts = false;   // the call is a start

  explicit operator bool() const noexcept { return passes != nullptr || posts != nullptr; }
};

Gating gating_of_start(const Pair& pair, Gate* ours, Gate* theirs) noexcept;
Gating gating_of_wait(const Pair& pair, Gate* ours, Gate* theirs) noexcept;

// At most largest_batch of them. Before the kernel of a call, and after it.
cudaError_t stand_at_gates(const Launch& launch, std::span<const Gating> gates);
cudaError_t tend_gates(const Launch& launch, std::span<const Gating> gates);
cudaError_t load_gate_kernel(const Launch& launch);

}  // namespace penstock::transport::peer::cuda
