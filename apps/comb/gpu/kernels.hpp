// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gpu_runtime.hpp>

#include "../../common/gpu/tasks.hpp"
#include "../mesh.hpp"

namespace penstock::comb::gpu {

struct Work {
  Mesh mesh;
  double* values;
  Sides sides;
  apps::gpu::Tasks tasks;
};

void load_kernels();
cudaError_t enqueue_fill(cudaStream_t stream, const Mesh& mesh, double* values, int cycle);
cudaError_t enqueue_pack(cudaStream_t stream, const Work& work);
cudaError_t enqueue_unpack(cudaStream_t stream, const Work& work);
// wrong[0] counts, wrong[1] is the least offset.
cudaError_t enqueue_check(cudaStream_t stream, const Mesh& mesh, const double* values, int cycle,
                          bool with_messages, unsigned long long* wrong);

}  // namespace penstock::comb::gpu
