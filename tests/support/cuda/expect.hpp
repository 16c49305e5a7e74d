// SPDX-License-Identifier: Apache-2.0
// A call of the CUDA or HIP runtime that must succeed; the test names it otherwise.
#pragma once

#include <gtest/gtest.h>
#include <gpu_runtime.hpp>

#define EXPECT_CUDA(call)                                                        \
  do {                                                                           \
    const cudaError_t code_ = (call);                                            \
    EXPECT_EQ(code_, cudaSuccess) << #call << ": " << cudaGetErrorString(code_); \
  } while (false)
