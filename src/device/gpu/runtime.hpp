// SPDX-License-Identifier: Apache-2.0
// Small helpers over the CUDA runtime, which is linked statically: a process starts and runs
// without a GPU, too.
#pragma once

#include <gpu_runtime.hpp>
#include <string>

#include "base/error.hpp"
#include "base/no_copy.hpp"

namespace penstock::device::gpu {

// Whether nothing of the device's context runs any more, or will, for the rest of the process.
inline bool ends_context(cudaError_t code) noexcept {
  switch (code) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorLaunchFailure:
    case cudaErrorAssert:
    case cudaErrorECCUncorrectable:
    case cudaErrorContextIsDestroyed:
#if !PENSTOCK_HIP
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorMpsClientTerminated:
#endif
      return true;
    default:
      return false;
  }
}

// For a caller that deals with a failure itself: the program's next call does not report it.
inline bool succeeded(cudaError_t code) noexcept {
  if (code != cudaSuccess) (void)cudaGetLastError();
  return code == cudaSuccess;
}

inline void check(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  const auto kind = code == cudaErrorMemoryAllocation ? base::ErrorKind::resources
                    : ends_context(code)              ? base::ErrorKind::stream
                                                      : base::ErrorKind::unsupported;
  (void)cudaGetLastError();  // it is reported here, not by the program's next call
  throw base::Error(kind, std::string(call) + ": " + cudaGetErrorString(code));
}

// Lets this thread allocate, register and map memory while a program captures a graph, which breaks
// captures otherwise: what is made here is in no stream.
class RelaxedCaptures : private base::NoCopy {
 public:
  RelaxedCaptures() noexcept { cudaThreadExchangeStreamCaptureMode(&mode_); }
  ~RelaxedCaptures() { cudaThreadExchangeStreamCaptureMode(&mode_); }

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

// Makes a device the current one for a scope; free when it is already.
class DeviceGuard : private base::NoCopy {
 public:
  explicit DeviceGuard(int device) noexcept {
    if (cudaGetDevice(&before_) != cudaSuccess || before_ == device) {
      before_ = -1;
      return;
    }
    cudaSetDevice(device);
  }
  ~DeviceGuard() {
    if (before_ >= 0) cudaSetDevice(before_);
  }

 private:
  int before_ = -1;
};

}  // namespace penstock::device::gpu
