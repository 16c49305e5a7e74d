// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gpu_runtime.hpp>
#include <stdexcept>
#include <string>

namespace penstock::apps::gpu {

inline void check(cudaError_t code, const char* call) {
  if (code != cudaSuccess)
    throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(code));
}

}  // namespace penstock::apps::gpu

#define CHECK_GPU(call) ::penstock::apps::gpu::check(call, #call)
