// SPDX-License-Identifier: Apache-2.0
#include "launch.hpp"

#include <gpu_runtime.hpp>
#include <stdexcept>

#include "cuda/cuda_check.hpp"

namespace penstock::bench::floor {
namespace {

using LaunchKernelEx = CUresult (*)(const CUlaunchConfig*, CUfunction, void**, void**);

LaunchKernelEx find_launch_function() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  CHECK_CUDA(cudaGetDriverEntryPointByVersion("cuLaunchKernelEx", &function, 11080,
                                              cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess)
    throw std::runtime_error("the driver has no cuLaunchKernelEx");
  return reinterpret_cast<LaunchKernelEx>(function);
}

}  // namespace

Kernel::Kernel(const void* symbol) : symbol_(symbol) {
  CHECK_CUDA(cudaGetKernel(&handle_, symbol));
  // Loads it now: a first launch beside a kernel that waits might have to wait for that one.
  cudaFuncAttributes attributes{};
  CHECK_CUDA(cudaFuncGetAttributes(&attributes, symbol));
  waits_ = vendor::awaits_predecessor(symbol);
}

void Kernel::launch(const Shape& shape, cudaStream_t stream, bool dependent, Caller caller,
                    void* argument) const {
  if (dependent && !waits_)
    throw std::runtime_error(
        "dependent launch needs kernels compiled for 90 or later: use --launches plain");
  void* arguments[] = {argument};
  if (caller == Caller::driver)
    launch_by_driver(shape, stream, dependent, arguments);
  else
    launch_by_runtime(shape, stream, dependent, arguments);
}

void Kernel::launch_by_runtime(const Shape& shape, cudaStream_t stream, bool dependent,
                               void** arguments) const {
  if (!dependent) {
    CHECK_CUDA(cudaLaunchKernel(symbol_, shape.blocks, shape.threads, arguments, 0, stream));
    return;
  }
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = shape.blocks;
  config.blockDim = shape.threads;
  config.stream = stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  CHECK_CUDA(cudaLaunchKernelExC(&config, symbol_, arguments));
}

void Kernel::launch_by_driver(const Shape& shape, cudaStream_t stream, bool dependent,
                              void** arguments) const {
  static const LaunchKernelEx launch_kernel = find_launch_function();
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config{};
  config.gridDimX = shape.blocks;
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = shape.threads;
  config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  config.attrs = &attribute;
  config.numAttrs = dependent ? 1 : 0;
  CHECK_CUDA(static_cast<cudaError_t>(
      launch_kernel(&config, reinterpret_cast<CUfunction>(handle_), arguments, nullptr)));
}

}  // namespace penstock::bench::floor
