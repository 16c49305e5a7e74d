// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gpu_runtime.hpp>

#if !PENSTOCK_HIP  // which has no driver apart from the runtime

namespace penstock::device::gpu {

// Makes a call of the driver's, which needs a context. A thread that has not used CUDA has none
// yet; the runtime gives it that of its current device.
template <class Call>
cudaError_t in_context(Call call) noexcept {
  const cudaError_t code = call();
  if (code != cudaErrorDeviceUninitialized) return code;
  int device = 0;
  if (const cudaError_t failed = cudaGetDevice(&device); failed != cudaSuccess) return failed;
  if (const cudaError_t failed = cudaSetDevice(device); failed != cudaSuccess) return failed;
  return call();
}

}  // namespace penstock::device::gpu

#endif
