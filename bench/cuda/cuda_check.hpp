// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gpu_runtime.hpp>
#include <stdexcept>
#include <string>

namespace penstock::bench {

inline void check_cuda(cudaError_t code, const char* call) {
  if (code != cudaSuccess)
    throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(code));
}

}  // namespace penstock::bench

#define CHECK_CUDA(call) ::penstock::bench::check_cuda(call, #call)
