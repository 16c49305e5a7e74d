// SPDX-License-Identifier: Apache-2.0
// Launching by the driver's own call: half of a small message's way goes into launches, and the
// runtime's call looks up more than a launch needs.
#pragma once

#include <gpu_runtime.hpp>

namespace penstock::device::gpu {

struct LaunchShape {
  unsigned blocks;
  unsigned threads;
  cudaStream_t stream;
  bool dependent;  // programmatic dependent launch, where the code and the device have it
};

// One kernel, on whichever device is current.
class Kernel {
 public:
  explicit Kernel(const void* symbol) noexcept;
  cudaError_t launch(const LaunchShape& shape, void* argument) const noexcept;

 private:
  void* handle_ = nullptr;
  cudaError_t found_;
  [[maybe_unused]] bool waits_ = false;  // for the kernel before it, as dependent launch needs it
};

}  // namespace penstock::device::gpu
