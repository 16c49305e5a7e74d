// SPDX-License-Identifier: Apache-2.0
#include "device/cuda/launch.hpp"

#include "device/cuda/driver.hpp"

namespace penstock::device::cuda {

#if PENSTOCK_HIP

Kernel::Kernel(const void* symbol) noexcept : handle_(const_cast<void*>(symbol)), found_(cudaSuccess) {}

cudaError_t Kernel::launch(const LaunchShape& shape, void* argument) const noexcept {
  void* arguments[] = {argument};
  return hipLaunchKernel(handle_, dim3(shape.blocks), dim3(shape.threads), arguments, 0, shape.stream);
}

#else

namespace {

using LaunchKernelEx = CUresult (*)(const CUlaunchConfig*, CUfunction, void**, void**);

LaunchKernelEx launch_function() noexcept {
  static const auto function = reinterpret_cast<LaunchKernelEx>(driver_function("cuLaunchKernelEx", 11080));
  return function;
}

}  // namespace

Kernel::Kernel(const void* symbol) noexcept {
  cudaKernel_t kernel = nullptr;
  found_ = cudaGetKernel(&kernel, symbol);
  handle_ = kernel;
  if (found_ == cudaSuccess && launch_function() == nullptr) found_ = cudaErrorInsufficientDriver;
}

cudaError_t Kernel::launch(const LaunchShape& shape, void* argument) const noexcept {
  if (found_ != cudaSuccess) return found_;
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config{};
  config.gridDimX = shape.blocks;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = shape.threads;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = shape.stream;
  config.attrs = &attribute;
  config.numAttrs = shape.dependent ? 1 : 0;
  void* arguments[] = {argument};
  const auto launch_once = [&] {
    return static_cast<cudaError_t>(launch_function()(&config, static_cast<CUfunction>(handle_), arguments, nullptr));
  };
  const cudaError_t code = launch_once();
  if (code != cudaErrorDeviceUninitialized) return code;
  // A thread that has not used CUDA has no context yet; the runtime gives it that of its current device.
  int device = 0;
  if (const cudaError_t failed = cudaGetDevice(&device); failed != cudaSuccess) return failed;
  if (const cudaError_t failed = cudaSetDevice(device); failed != cudaSuccess) return failed;
  return launch_once();
}

#endif

}  // namespace penstock::device::cuda
