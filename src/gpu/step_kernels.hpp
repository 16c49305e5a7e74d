// SPDX-License-Identifier: Apache-2.0
// The kernel for local steps of collectives: it moves and combines what lies in the memory of one
// GPU, and waits for no peer.
#pragma once

#include <gpu_runtime.hpp>
#include <span>

#include "gpu/launch.hpp"
#include "gpu/step_work.hpp"

namespace penstock::gpu {

inline constexpr std::size_t largest_step_batch = 16;

// From one to largest_step_batch steps that do not need each other's results.
cudaError_t launch_local_steps(const Launch& launch, std::span<const StepWork> works);
// Loads the kernels onto the current device: their first launch may need the device idle, and later
// it may not be.
cudaError_t load_local_steps(const Launch& launch);

}  // namespace penstock::gpu
