// SPDX-License-Identifier: Apache-2.0
// The relay's kernels: one for the starts of an enqueue call, one for its waits, in a form for each
// Standing (gpu/wait_places.hpp).
#pragma once

#include <gpu_runtime.hpp>
#include <span>

#include "gpu/launch.hpp"
#include "relay/gpu/post.hpp"

namespace penstock::relay {

using gpu::Launch;

inline constexpr std::size_t largest_batch = 16;

// These launch at most largest_batch posts.
cudaError_t launch_starts(const Launch& launch, std::span<const Post> posts);
cudaError_t launch_waits(const Launch& launch, std::span<const Post> posts);
// The kernel of the waits begins when the relay has completed them.
cudaError_t launch_waits_at_gates(const Launch& launch, std::span<const Post> posts);
// Loads the kernels onto the current device: their first launch may need the device idle, and later
// it may not be.
cudaError_t load_kernels(const Launch& launch);

}  // namespace penstock::relay
