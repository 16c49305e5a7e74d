// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "cuda_check.hpp"

namespace penstock::bench {

// Zeroed memory of the current device.
class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes) : bytes_(bytes) {
    void* address = nullptr;
    CHECK_CUDA(cudaMalloc(&address, bytes > 0 ? bytes : 1));
    memory_.reset(static_cast<std::byte*>(address));
    CHECK_CUDA(cudaMemset(address, 0, bytes));
  }
  std::byte* data() const { return memory_.get(); }
  std::size_t bytes() const { return bytes_; }
  std::span<std::byte> all() const { return {memory_.get(), bytes_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { cudaFree(memory); }
  };
  std::size_t bytes_;
  std::unique_ptr<std::byte, Free> memory_;
};

}  // namespace penstock::bench
