// SPDX-License-Identifier: Apache-2.0
#include "jacobi/gpu/kernels.hpp"

#include "common/gpu/check.hpp"

namespace penstock::jacobi::gpu {
namespace {

constexpr unsigned block_x = 64;  // along the dense dimension: whole warps
constexpr unsigned block_y = 4;

// A change is never negative, and the bits of such numbers have their order.
__device__ void report(State* state, double change) {
  for (int lane = 16; lane > 0; lane /= 2) {
    const double other = __shfl_xor_sync(0xffffffffu, change, lane);
    if (other > change) change = other;
  }
  if (threadIdx.x % 32 == 0 && change > 0) {
    atomicMax(reinterpret_cast<unsigned long long*>(&state->change),
              static_cast<unsigned long long>(__double_as_longlong(change)));
  }
}

template <bool checked>
__global__ void __launch_bounds__(block_x* block_y)
    sweep_kernel(Block from, double* to, State* state) {
  if (state->converged != 0) return;
  const int k = static_cast<int>(blockIdx.x * block_x + threadIdx.x);
  const int j = static_cast<int>(blockIdx.y * block_y + threadIdx.y);
  double change = 0;
  if (j < from.extents[1] && k < from.extents[2]) {
    for (int i = static_cast<int>(blockIdx.z); i < from.extents[0];
         i += static_cast<int>(gridDim.z)) {
      const std::ptrdiff_t at = i * from.plane + j * from.row + k;
      const double after = average(from.first + at, from.plane, from.row);
      to[at] = after;
      const double now = change_of(from.first[at], after);
      if (now > change) change = now;
    }
  }
  if (checked) report(state, change);
}

__global__ void decide_kernel(State* state, double tolerance, int iterations) {
  jacobi::decide(*state, tolerance, iterations);
}

dim3 blocks_for(const Block& block) {
  const auto blocks = [](int extent, unsigned size) {
    return (static_cast<unsigned>(extent) + size - 1) / size;
  };
  constexpr int most_planes = 1024;
  const int planes = block.extents[0] < most_planes ? block.extents[0] : most_planes;
  return {blocks(block.extents[2], block_x), blocks(block.extents[1], block_y),
          static_cast<unsigned>(planes)};
}

}  // namespace

void sweep(void* stream, const Block& from, double* to, State* state, bool checked) {
  const dim3 blocks = blocks_for(from);
  const dim3 threads(block_x, block_y);
  const auto on = static_cast<cudaStream_t>(stream);
  if (checked) {
    sweep_kernel<true><<<blocks, threads, 0, on>>>(from, to, state);
  } else {
    sweep_kernel<false><<<blocks, threads, 0, on>>>(from, to, state);
  }
  CHECK_GPU(cudaGetLastError());
}

void decide(void* stream, State* state, double tolerance, int iterations) {
  decide_kernel<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(state, tolerance, iterations);
  CHECK_GPU(cudaGetLastError());
}

void load() {
  cudaFuncAttributes attributes;
  for (const void* kernel : {reinterpret_cast<const void*>(&sweep_kernel<false>),
                             reinterpret_cast<const void*>(&sweep_kernel<true>),
                             reinterpret_cast<const void*>(&decide_kernel)})
    CHECK_GPU(cudaFuncGetAttributes(&attributes, kernel));
}

}  // namespace penstock::jacobi::gpu
