// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "cuda_check.hpp"

namespace penstock::bench {

// Zeroed memory of the current device.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes)
      : DeviceMemory(allocate(bytes), bytes, [](void* memory) { cudaFree(memory); }) {}
  // Takes over memory that a library has given.
  DeviceMemory(void* memory, std::size_t bytes, std::function<void(void*)> free)
      : bytes_(bytes), memory_(static_cast<std::byte*>(memory), std::move(free)) {
    CHECK_CUDA(cudaMemset(memory, 0, bytes));
  }
  std::byte* data() const { return memory_.get(); }
  std::size_t bytes() const { return bytes_; }
  std::span<std::byte> all() const { return {memory_.get(), bytes_}; }

 private:
  static void* allocate(std::size_t bytes) {
    void* address = nullptr;
    CHECK_CUDA(cudaMalloc(&address, bytes > 0 ? bytes : 1));
    return address;
  }
  std::size_t bytes_;
  std::unique_ptr<std::byte, std::function<void(void*)>> memory_;
};

}  // namespace penstock::bench
