// SPDX-License-Identifier: Apache-2.0
#include "halo/cuda/steps.hpp"

namespace penstock::test {
namespace {

constexpr unsigned threads = 256;

template <class Visit>
__device__ void for_each_cell(const Steps& steps, Visit visit) {
  const std::ptrdiff_t cells = steps.rows * steps.columns;
  const std::ptrdiff_t stride = static_cast<std::ptrdiff_t>(gridDim.x) * blockDim.x;
  for (std::ptrdiff_t i = static_cast<std::ptrdiff_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < cells; i += stride)
    visit(i / steps.columns, i % steps.columns, steps.cells[i]);
}

__global__ void write(Steps steps) {
  const std::uint64_t step = steps.counts->step;
  for_each_cell(steps, [&](std::ptrdiff_t row, std::ptrdiff_t column, std::uint64_t& cell) {
    if (is_own(steps, row, column)) cell = value_at(steps, step, row, column);
  });
}

__global__ void check(Steps steps) {
  const std::uint64_t step = steps.counts->step;
  unsigned long long wrong = 0;
  for_each_cell(steps, [&](std::ptrdiff_t row, std::ptrdiff_t column, const std::uint64_t& cell) {
    if (cell != value_at(steps, step, row, column)) ++wrong;
  });
  if (wrong != 0)
    atomicAdd_system(reinterpret_cast<unsigned long long*>(&steps.counts->wrong), wrong);
}

__global__ void count(StepCounts* counts) {
  ++counts->step;
  __threadfence_system();
}

unsigned blocks_for(const Steps& steps) {
  const auto blocks =
      (static_cast<std::uint64_t>(steps.rows * steps.columns) + threads - 1) / threads;
  return static_cast<unsigned>(blocks < 64 ? blocks : 64);
}

}  // namespace

void launch_write(cudaStream_t stream, const Steps& steps) {
  write<<<blocks_for(steps), threads, 0, stream>>>(steps);
}

void launch_check(cudaStream_t stream, const Steps& steps) {
  check<<<blocks_for(steps), threads, 0, stream>>>(steps);
}

void launch_count(cudaStream_t stream, StepCounts* counts) {
  count<<<1, 1, 0, stream>>>(counts);
}

void load_step_kernels() {
  cudaFuncAttributes attributes;
  for (const void* kernel :
       {reinterpret_cast<const void*>(&write), reinterpret_cast<const void*>(&check),
        reinterpret_cast<const void*>(&count)})
    cudaFuncGetAttributes(&attributes, kernel);
}

}  // namespace penstock::test
