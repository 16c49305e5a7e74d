// SPDX-License-Identifier: Apache-2.0
// What a launch has to do. One kernel serves any number of directions: each has blocks of its own.
#pragma once

#include <gpu_runtime.hpp>

#include "../geometry.hpp"

namespace penstock::faces::gpu {

constexpr unsigned threads = 256;

// The blocks up to end[i] are for direction[i].
struct Tasks {
  int count;
  int direction[directions];
  unsigned end[directions];
};

struct Work {
  Block block;
  double* u;
  Sides sides;
  Tasks tasks;
};

void load_kernels();
cudaError_t enqueue_initialise(cudaStream_t stream, const Block& block, double* u);
cudaError_t enqueue_pack(cudaStream_t stream, const Work& work);
cudaError_t enqueue_sum_inside(cudaStream_t stream, const Block& block, double* u);
cudaError_t enqueue_unpack(cudaStream_t stream, const Work& work);

}  // namespace penstock::faces::gpu
