// SPDX-License-Identifier: Apache-2.0
// Launching by the driver's own call: half of a small message's way goes into launches, and the runtime's call looks up
// more than a launch needs.
#pragma once

#include <gpu_runtime.hpp>

namespace penstock::device::cuda {

struct LaunchShape {
  unsigned blocks;
  unsigned threads;
  cudaStream_t stream;
  bool dependent;  // programmatic dependent launch, where the device has it
};

// One kernel, on whichever device is current.
class Kernel {
 public:
  explicit Kernel(const void* symbol) noexcept;
  cudaError_t launch(const LaunchShape& shape, void* argument) const noexcept;

 private:
  void* handle_ = nullptr;
  cudaError_t found_;
};

}  // namespace penstock::device::cuda
