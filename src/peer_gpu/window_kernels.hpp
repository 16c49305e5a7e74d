// SPDX-License-Identifier: Apache-2.0
// The kernel of windows: one serves the posts, completes and waits of an enqueue call, or of a
// batch of calls.
#pragma once

#include <gpu_runtime.hpp>
#include <span>

#include "gpu/launch.hpp"
#include "peer_gpu/window_item.hpp"

namespace penstock::peer_gpu {

using gpu::Launch;
using transport::Operation;

// From one to largest_batch ends: posts first, then completes, then waits.
cudaError_t launch_windows(const Launch& launch, std::span<const WindowItem> ends,
                           std::span<const Operation> operations);
// As load_kernels().
cudaError_t load_window_kernels(const Launch& launch);

}  // namespace penstock::peer_gpu
