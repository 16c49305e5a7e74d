// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda_check.hpp"
#include "memory.hpp"

namespace penstock::bench {

// Zeroed memory of the current device.
inline Memory device_memory(std::size_t bytes) {
  void* address = nullptr;
  CHECK_CUDA(cudaMalloc(&address, bytes > 0 ? bytes : 1));
  Memory memory(address, bytes, [](void* mine) { cudaFree(mine); });
  CHECK_CUDA(cudaMemset(address, 0, bytes));
  return memory;
}

// Where the messages of an exchange lie in memory of GPUs, whoever gives it.
inline constexpr std::size_t gpu_line = 128;

}  // namespace penstock::bench
