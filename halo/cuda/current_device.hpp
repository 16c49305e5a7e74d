// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gpu_runtime.hpp>

namespace penstock::halo {

// Makes a device the current one for a scope: kernels are launched and memory is allocated there,
// whichever the program has made current. What it cannot do shows in the call that follows.
class CurrentDevice {
 public:
  explicit CurrentDevice(int device) noexcept {
    if (cudaGetDevice(&before_) != cudaSuccess || before_ == device) {
      before_ = -1;
      return;
    }
    (void)cudaSetDevice(device);
  }
  ~CurrentDevice() {
    if (before_ >= 0) (void)cudaSetDevice(before_);
  }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  int before_ = -1;
};

}  // namespace penstock::halo
