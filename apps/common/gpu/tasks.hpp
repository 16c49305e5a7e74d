// SPDX-License-Identifier: Apache-2.0
// One kernel for several directions: each has blocks of its own.
#pragma once

#include <cstddef>
#include <gpu_runtime.hpp>

#include "../sides.hpp"

namespace penstock::apps::gpu {

// Of a block.
constexpr unsigned threads = 256;

struct Tasks {
  int count;
  int direction[directions];
  unsigned end[directions];  // of the blocks for this direction

  unsigned blocks() const { return count == 0 ? 0 : end[count - 1]; }
  // A thread for each of `size` elements.
  void add(int to, std::size_t size) {
    direction[count] = to;
    end[count] = blocks() + static_cast<unsigned>((size + threads - 1) / threads);
    ++count;
  }
};

#if PENSTOCK_DEVICE_CODE
// The direction that this block is for, and the number of the calling thread among those for it.
__device__ inline int find_task(const Tasks& tasks, unsigned& number) {
  int task = 0;
  unsigned first = 0;
  while (blockIdx.x >= tasks.end[task]) first = tasks.end[task++];
  number = (blockIdx.x - first) * threads + threadIdx.x;
  return tasks.direction[task];
}
#endif

}  // namespace penstock::apps::gpu
