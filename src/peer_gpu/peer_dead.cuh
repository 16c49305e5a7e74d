// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/access.cuh"
#include "peer_gpu/batch.hpp"

namespace penstock::peer_gpu {

// Nothing is stored into the memory of a process that has ended, as the host says. A kernel behind
// a gate may begin after that.
__device__ inline bool peer_is_dead(const Pair& pair) {
  return gpu::SystemWord(pair.notice->peer_dead).load(::cuda::memory_order_relaxed) != 0;
}

}  // namespace penstock::peer_gpu
