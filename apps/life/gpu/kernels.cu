// SPDX-License-Identifier: Apache-2.0
#include "life/gpu/kernels.hpp"

#include "common/gpu/check.hpp"
#include "life/census.hpp"

namespace penstock::life::gpu {
namespace {

constexpr unsigned block_x = 64;
constexpr unsigned block_y = 4;

__global__ void __launch_bounds__(block_x* block_y) step_kernel(Cells from, std::uint8_t* to) {
  const int x = static_cast<int>(blockIdx.x * block_x + threadIdx.x);
  if (x >= from.width) return;
  const int rows = static_cast<int>(gridDim.y * block_y);
  for (int y = static_cast<int>(blockIdx.y * block_y + threadIdx.y); y < from.height; y += rows) {
    const std::uint8_t* here = from.cells + y * from.stride + x;
    const std::uint8_t* above = here - from.stride;
    const std::uint8_t* below = here + from.stride;
    const int neighbours =
        above[-1] + above[0] + above[1] + here[-1] + here[1] + below[-1] + below[0] + below[1];
    // 3 neighbours, or 2 and alive, is exactly: neighbours with its lowest bit set by a live cell
    // is 3.
    to[y * from.stride + x] = (neighbours | here[0]) == 3 ? 1 : 0;
  }
}

__global__ void __launch_bounds__(block_x* block_y)
    count_kernel(Cells cells, int first_x, int first_y, int columns, std::uint64_t* census) {
  const int x = static_cast<int>(blockIdx.x * block_x + threadIdx.x);
  if (x >= cells.width) return;
  const int rows = static_cast<int>(gridDim.y * block_y);
  unsigned long long sum = 0;
  for (int y = static_cast<int>(blockIdx.y * block_y + threadIdx.y); y < cells.height; y += rows) {
    if (cells.cells[y * cells.stride + x] == 0) continue;
    sum += share_of(static_cast<std::uint64_t>(first_y + y) * static_cast<std::uint64_t>(columns) +
                    static_cast<std::uint64_t>(first_x + x));
  }
  if (sum != 0) atomicAdd(reinterpret_cast<unsigned long long*>(census + 1 + census[0]), sum);
}

__global__ void next_kernel(std::uint64_t* census) {
  ++census[0];
}

dim3 blocks_for(const Cells& cells) {
  const auto blocks = [](int extent, unsigned block) {
    return (static_cast<unsigned>(extent) + block - 1) / block;
  };
  constexpr unsigned most = 65535;
  const unsigned rows = blocks(cells.height, block_y);
  return {blocks(cells.width, block_x), rows < most ? rows : most, 1};
}

}  // namespace

void step(void* stream, const Cells& from, std::uint8_t* to) {
  step_kernel<<<blocks_for(from), dim3(block_x, block_y), 0, static_cast<cudaStream_t>(stream)>>>(
      from, to);
  CHECK_GPU(cudaGetLastError());
}

void count(void* stream, const Cells& cells, int x, int y, int columns, std::uint64_t* census) {
  const auto on = static_cast<cudaStream_t>(stream);
  count_kernel<<<blocks_for(cells), dim3(block_x, block_y), 0, on>>>(cells, x, y, columns, census);
  next_kernel<<<1, 1, 0, on>>>(census);
  CHECK_GPU(cudaGetLastError());
}

void load() {
  cudaFuncAttributes attributes;
  for (const void* kernel :
       {reinterpret_cast<const void*>(&step_kernel), reinterpret_cast<const void*>(&count_kernel),
        reinterpret_cast<const void*>(&next_kernel)})
    CHECK_GPU(cudaFuncGetAttributes(&attributes, kernel));
}

}  // namespace penstock::life::gpu
