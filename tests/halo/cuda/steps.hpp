// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gpu_runtime.hpp>

#include "halo/step_values.hpp"

namespace penstock::test {

void launch_write(cudaStream_t stream, const Steps& steps);
void launch_check(cudaStream_t stream, const Steps& steps);
void launch_count(cudaStream_t stream, StepCounts* counts);
void load_step_kernels();  // a first launch may wait for the device

}  // namespace penstock::test
