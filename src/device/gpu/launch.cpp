// SPDX-License-Identifier: Apache-2.0
#include "device/gpu/launch.hpp"

#include "device/gpu/context.hpp"
#include "device/gpu/driver.hpp"

namespace penstock::device::gpu {

#if PENSTOCK_HIP

Kernel::Kernel(const void* symbol) noexcept
    : handle_(const_cast<void*>(symbol)), found_(cudaSuccess) {}

cudaError_t Kernel::launch(const LaunchShape& shape, void* argument) const noexcept {
  void* arguments[] = {argument};
  return hipLaunchKernel(handle_, dim3(shape.blocks), dim3(shape.threads), arguments, 0,
                         shape.stream);
}

#else

namespace {

using LaunchKernelEx = CUresult (*)(const CUlaunchConfig*, CUfunction, void**, void**);

LaunchKernelEx launch_function() noexcept {
  static const auto function =
      reinterpret_cast<LaunchKernelEx>(driver_function("cuLaunchKernelEx", 11080));
  return function;
}

}  // namespace

Kernel::Kernel(const void* symbol) noexcept : waits_(vendor::awaits_predecessor(symbol)) {
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
  config.numAttrs = shape.dependent && waits_ ? 1 : 0;
  void* arguments[] = {argument};
  return in_context([&] {
    return static_cast<cudaError_t>(
        launch_function()(&config, static_cast<CUfunction>(handle_), arguments, nullptr));
  });
}

#endif

}  // namespace penstock::device::gpu
