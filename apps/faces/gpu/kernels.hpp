// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gpu_runtime.hpp>

#include "../../common/gpu/tasks.hpp"
#include "../geometry.hpp"

namespace penstock::faces::gpu {

struct Work {
  Block block;
  double* u;
  Sides sides;  // what is packed into or unpacked
  Sides next;   // what unpack() packs into: of no messages, if nothing
  apps::gpu::Tasks tasks;
};

void load_kernels(const Block& block);
cudaError_t enqueue_initialise(cudaStream_t stream, const Block& block, double* u);
cudaError_t enqueue_pack(cudaStream_t stream, const Work& work);
cudaError_t enqueue_sum_inside(cudaStream_t stream, const Block& block, double* u, bool downward);
cudaError_t enqueue_unpack(cudaStream_t stream, const Work& work);

}  // namespace penstock::faces::gpu
