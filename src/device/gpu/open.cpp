// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>

#include "base/error.hpp"
#include "device/gpu.hpp"
#include "device/gpu/driver.hpp"
#include "device/gpu/runtime.hpp"
#include "device/gpu/stream.hpp"

namespace penstock::device {

using base::Error;
using base::ErrorKind;

namespace {

std::string describe_devices() {  // "2 GPUs, NVIDIA H200"
  int devices = 0;
  cudaGetDeviceCount(&devices);
  cudaDeviceProp properties{};
  const bool named = cudaGetDeviceProperties(&properties, 0) == cudaSuccess;
  return std::to_string(devices) + (devices == 1 ? " GPU" : " GPUs") +
         (named ? std::string(", ") + properties.name : "");
}

}  // namespace

base::Verdict gpu_status(Vendor vendor) {
  if (vendor != built_for) return base::refused("not built into this library");
  const base::Verdict here = gpu::usable();
  return here.yes ? base::Verdict{true, describe_devices()} : here;
}

std::shared_ptr<Stream> open_gpu_stream(Vendor vendor, const void* handle) {
  if (vendor != built_for) throw not_built_in(vendor);
  if (const base::Verdict here = gpu::usable(); !here.yes)
    throw Error(ErrorKind::unsupported, "PST_QUEUE_" PENSTOCK_GPU " cannot be used here: " +
                                            here.why + "; use PST_QUEUE_HOST");
  return std::make_shared<gpu::Stream>(*static_cast<const cudaStream_t*>(handle));
}

bool gpus_in_use() noexcept {
  return gpu::driver_is_loaded();
}

std::optional<std::uint64_t> gpu_stream_number(void* handle) {
  if (!gpu::driver_is_loaded()) return std::nullopt;
  unsigned long long number = 0;
  const cudaError_t code = cudaStreamGetId(static_cast<cudaStream_t>(handle), &number);
  if (gpu::succeeded(code)) return number;
  throw Error(ErrorKind::stream, std::string("the stream is neither one of PST_Stream_create nor "
                                             "a " PENSTOCK_GPU " stream: ") +
                                     cudaGetErrorString(code));
}

void enter_gpu(int device) noexcept {
  if (gpu::current_context() == nullptr && cudaSetDevice(device) != cudaSuccess)
    (void)cudaGetLastError();
}

}  // namespace penstock::device
