// SPDX-License-Identifier: Apache-2.0
// What the layers below ask about GPUs, the same whether or not their devices are built in.
#pragma once

#include <memory>
#include <string>

#include "device/memory.hpp"
#include "device/stream.hpp"

namespace penstock::device {

struct GpuStatus {
  bool usable = false;
  std::string why;
};

// Whether CUDA streams can be had in this process. Starts the CUDA driver; for `penstock info`.
GpuStatus cuda_status();
// The stream behind the cudaStream_t at this address, which is read now only. Throws Error(unsupported) when there is
// no CUDA here, Error(stream) when the handle is none.
std::shared_ptr<Stream> open_cuda_stream(const void* handle);
// Costs nothing in a process that has not loaded the CUDA driver.
MemoryKind memory_kind(const void* address) noexcept;
// The device of an address of kind `cuda`.
int gpu_of(const void* address) noexcept;
// Makes the device current for the calling thread if it has none: for libraries that are given the device's memory.
void enter_gpu(int device) noexcept;

}  // namespace penstock::device
