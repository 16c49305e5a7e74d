// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gpu_runtime.hpp>
#include <stdexcept>
#include <string>

namespace penstock::examples::gpu {

inline void check(cudaError_t code, const char* call) {
  if (code != cudaSuccess) throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(code));
}

}  // namespace penstock::examples::gpu

#define CHECK_GPU(call) ::penstock::examples::gpu::check(call, #call)
