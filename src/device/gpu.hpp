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

}  // namespace penstock::device
