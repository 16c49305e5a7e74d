// SPDX-License-Identifier: Apache-2.0
// A block of threads, and how the blocks that serve one pair in one kernel work together.
#pragma once

#include "gpu/access.cuh"

namespace penstock::gpu {

// Where this block stands: block `index` of the `blocks` that serve the pair.
struct BlockIndex {
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

}  // namespace penstock::gpu
