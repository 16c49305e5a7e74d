// SPDX-License-Identifier: Apache-2.0
#include "device/gpu.hpp"

#include "base/error.hpp"

#if PENSTOCK_CUDA
#include "device/cuda/memory.hpp"
#include "device/cuda/open.hpp"
#endif

namespace penstock::device {

#if PENSTOCK_CUDA

GpuStatus cuda_status() {
  const std::string why_not = cuda::why_unusable();
  return why_not.empty() ? GpuStatus{true, cuda::describe_devices()} : GpuStatus{false, why_not};
}

std::shared_ptr<Stream> open_cuda_stream(const void* handle) {
  if (const std::string why_not = cuda::why_unusable(); !why_not.empty())
    throw base::Error(base::ErrorKind::unsupported,
                      "PST_QUEUE_CUDA cannot be used here: " + why_not + "; use PST_QUEUE_HOST");
  return cuda::open_stream(handle);
}

MemoryKind memory_kind(const void* address) noexcept {
  return cuda::look_at(address).on_device ? MemoryKind::cuda : MemoryKind::host;
}

int gpu_of(const void* address) noexcept {
  return cuda::look_at(address).device;
}

void enter_gpu(int device) noexcept {
  cuda::enter(device);
}

#else

GpuStatus cuda_status() {
  return {false, "not built into this library"};
}

std::shared_ptr<Stream> open_cuda_stream(const void*) {
  throw base::Error(base::ErrorKind::unsupported, "PST_QUEUE_CUDA is not built into this library: use PST_QUEUE_HOST");
}

MemoryKind memory_kind(const void*) noexcept {
  return MemoryKind::host;
}

int gpu_of(const void*) noexcept {
  return -1;
}

void enter_gpu(int) noexcept {}

#endif

}  // namespace penstock::device
