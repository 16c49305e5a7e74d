// SPDX-License-Identifier: Apache-2.0
// The kernel of direct exchanges: it starts them, waits for them, or does both in one launch.
#pragma once

#include <gpu_runtime.hpp>
#include <span>

#include "gpu/launch.hpp"
#include "peer_gpu/rally_item.hpp"

namespace penstock::peer_gpu {

using gpu::Launch;

inline constexpr std::size_t largest_rally_batch = 8;

cudaError_t launch_rallies(const Launch& launch, std::span<const RallyItem> items);
cudaError_t load_rally_kernels(const Launch& launch);

}  // namespace penstock::peer_gpu
