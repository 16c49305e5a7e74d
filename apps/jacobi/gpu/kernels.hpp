// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "jacobi/sweep.hpp"

namespace penstock::jacobi::gpu {

// `stream` is a cudaStream_t or hipStream_t. All throw where the launch fails.
void sweep(void* stream, const Block& from, double* to, State* state, bool checked);
void decide(void* stream, State* state, double tolerance, int iterations);

// Before anything waits on the device, or is captured: a kernel's first launch may load it.
void load();

}  // namespace penstock::jacobi::gpu
