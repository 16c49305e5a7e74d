// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <new>

#include "cuda/cuda_check.hpp"

namespace penstock::bench::floor {

// A word in pinned host memory that the device reads as well, zero at first.
class HostWord {
 public:
  HostWord() {
    void* word = nullptr;
    void* on_device = nullptr;
    CHECK_CUDA(cudaHostAlloc(&word, sizeof *word_, cudaHostAllocMapped));
    word_ = new (word) std::uint64_t{0};
    CHECK_CUDA(cudaHostGetDevicePointer(&on_device, word_, 0));
    on_device_ = static_cast<std::uint64_t*>(on_device);
  }
  ~HostWord() { cudaFreeHost(word_); }
  HostWord(const HostWord&) = delete;
  HostWord& operator=(const HostWord&) = delete;
  std::uint64_t* on_device() const { return on_device_; }

 private:
  std::uint64_t* word_ = nullptr;
  std::uint64_t* on_device_ = nullptr;
};

}  // namespace penstock::bench::floor
