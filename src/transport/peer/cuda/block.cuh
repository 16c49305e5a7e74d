// SPDX-License-Identifier: Apache-2.0
// A block of threads, and how the blocks that serve one pair in one kernel work together.
#pragma once

#include "transport/peer/cuda/access.cuh"

namespace penstock::transport::peer::cuda {

// Where this block stands: block `index` of the `blocks` that serve the pair.
struct Place {
  unsigned index = 0;
  unsigned blocks = 1;

  __device__ bool leads() const { return index == 0; }
};

// Thread 0's value, for all threads of the block. All take part.
__device__ inline Word64 agree(Word64 value) {
  __shared__ Word64 box;
  __syncthreads();
  if (threadIdx.x == 0) box = value;
  __syncthreads();
  return box;
}

// True for one thread of the last block that leaves: all blocks have done their part, and what it does is done for all.
// Acquire and release: the parts of the blocks that left before come first.
__device__ inline bool last_to_leave(Half& half, const Place& place) {
  __syncthreads();
  if (threadIdx.x != 0) return false;
  if (place.blocks == 1) return true;
  DeviceWord exited(half.exited);
  if (exited.fetch_add(1, ::cuda::memory_order_acq_rel) + 1 < place.blocks) return false;
  exited.store(0, ::cuda::memory_order_relaxed);  // for the next kernel of the stream
  return true;
}

}  // namespace penstock::transport::peer::cuda
