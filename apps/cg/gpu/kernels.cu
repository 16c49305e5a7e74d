// SPDX-License-Identifier: Apache-2.0
#include "cg/kernels.hpp"
#include "common/gpu/check.hpp"

namespace penstock::cg::gpu {
namespace {

constexpr unsigned block_x = 64;  // along the dense dimension: whole warps
constexpr unsigned block_y = 4;
constexpr unsigned block_threads = block_x * block_y;

// Of all threads of the block, in a fixed order; known to thread 0.
__device__ double block_sum(double value) {
  __shared__ double values[block_threads];
  const unsigned thread = threadIdx.y * block_x + threadIdx.x;
  values[thread] = value;
  __syncthreads();
  for (unsigned half = block_threads / 2; half > 0; half /= 2) {
    if (thread < half) values[thread] += values[thread + half];
    __syncthreads();
  }
  return values[0];
}

__device__ unsigned number_of_blocks() {
  return gridDim.x * gridDim.y * gridDim.z;
}

// True in all threads of the block that comes last: what the others have written before is there.
__device__ bool is_last_block(State* state) {
  __shared__ bool last;
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    __threadfence();
    last = atomicAdd(&state->blocks_done, 1) + 1 == number_of_blocks();
    if (last) state->blocks_done = 0;
    __threadfence();
  }
  __syncthreads();
  return last;
}

// Of all threads of all blocks, in a fixed order.
__device__ void sum_up(const Vectors& vectors, double value, double* result) {
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const unsigned thread = threadIdx.y * block_x + threadIdx.x;
  const double own = block_sum(value);
  if (thread == 0) vectors.sums[block] = own;
  if (!is_last_block(vectors.state)) return;
  double rest = 0;
  for (unsigned i = thread; i < number_of_blocks(); i += block_threads)
    rest += reinterpret_cast<const volatile double*>(vectors.sums)[i];
  const double total = block_sum(rest);
  if (thread == 0) *result = total;
}

// Calls cell(place in the direction, place in the others) for the cells of this thread.
template <class Cell>
__device__ void for_cells(const Vectors& vectors, Cell cell) {
  const int k = static_cast<int>(blockIdx.x * block_x + threadIdx.x);
  const int j = static_cast<int>(blockIdx.y * block_y + threadIdx.y);
  if (j >= vectors.extents[1] || k >= vectors.extents[2]) return;
  for (int i = static_cast<int>(blockIdx.z); i < vectors.extents[0];
       i += static_cast<int>(gridDim.z))
    cell(vectors.padded(i, j) + k, vectors.dense(i, j) + k);
}

__global__ void __launch_bounds__(block_threads) multiply_kernel(Vectors vectors) {
  if (vectors.state->converged != 0) return;
  double curvature = 0;
  for_cells(vectors, [&](std::ptrdiff_t padded, std::ptrdiff_t dense) {
    const double* const from = vectors.direction + padded;
    const double product = matrix_row(from, vectors.plane, vectors.row);
    vectors.product[dense] = product;
    curvature += *from * product;
  });
  sum_up(vectors, curvature, &vectors.state->own_curvature);
}

__global__ void __launch_bounds__(block_threads) step_kernel(Vectors vectors) {
  if (vectors.state->converged != 0) return;
  const double length = step_length(*vectors.state);
  double residual = 0;
  for_cells(vectors, [&](std::ptrdiff_t padded, std::ptrdiff_t dense) {
    vectors.solution[dense] += length * vectors.direction[padded];
    const double rest = vectors.residual[dense] - length * vectors.product[dense];
    vectors.residual[dense] = rest;
    residual += rest * rest;
  });
  sum_up(vectors, residual, &vectors.state->own_residual);
}

// The last block ends the iteration: all others have read the state.
__global__ void __launch_bounds__(block_threads) turn_kernel(Vectors vectors) {
  if (vectors.state->converged != 0) return;
  const double kept = kept_part(*vectors.state);
  for_cells(vectors, [&](std::ptrdiff_t padded, std::ptrdiff_t dense) {
    double& direction = vectors.direction[padded];
    direction = vectors.residual[dense] + kept * direction;
  });
  if (is_last_block(vectors.state) && threadIdx.x == 0 && threadIdx.y == 0)
    end_iteration(*vectors.state);
}

dim3 blocks_for(const int (&extents)[3]) {
  const auto blocks = [](int extent, unsigned size) {
    return (static_cast<unsigned>(extent) + size - 1) / size;
  };
  const unsigned across = blocks(extents[2], block_x) * blocks(extents[1], block_y);
  // Enough to fill a GPU; the last block adds up what each of them leaves.
  constexpr unsigned enough = 2048;
  const unsigned planes = across < enough ? enough / across : 1;
  const auto most = static_cast<unsigned>(extents[0]);
  return {blocks(extents[2], block_x), blocks(extents[1], block_y), planes < most ? planes : most};
}

template <class Kernel>
void launch(Kernel kernel, void* stream, const Vectors& vectors) {
  kernel<<<blocks_for(vectors.extents), dim3(block_x, block_y), 0,
           static_cast<cudaStream_t>(stream)>>>(vectors);
  CHECK_GPU(cudaGetLastError());
}

}  // namespace

void multiply(void* stream, const Vectors& vectors) {
  launch(multiply_kernel, stream, vectors);
}
void step(void* stream, const Vectors& vectors) {
  launch(step_kernel, stream, vectors);
}
void turn(void* stream, const Vectors& vectors) {
  launch(turn_kernel, stream, vectors);
}

std::size_t most_blocks(const int (&extents)[3]) {
  const dim3 blocks = blocks_for(extents);
  return static_cast<std::size_t>(blocks.x) * blocks.y * blocks.z;
}

void load() {
  cudaFuncAttributes attributes;
  for (const void* kernel :
       {reinterpret_cast<const void*>(&multiply_kernel),
        reinterpret_cast<const void*>(&step_kernel), reinterpret_cast<const void*>(&turn_kernel)})
    CHECK_GPU(cudaFuncGetAttributes(&attributes, kernel));
}

}  // namespace penstock::cg::gpu
