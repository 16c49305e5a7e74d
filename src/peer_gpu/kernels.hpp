// SPDX-License-Identifier: Apache-2.0
// The kernels of the GPU form: one serves all the starts of an enqueue call, one all its waits.
#pragma once

#include <gpu_runtime.hpp>
#include <span>

#include "gpu/launch.hpp"
#include "peer_gpu/batch.hpp"

namespace penstock::peer_gpu {

using gpu::Launch;

// Which kernel serves the pair, as Pair::work has it. It is known once the pair's threads are.
std::uint8_t work_of_start(const Pair& pair);
std::uint8_t work_of_wait(const Pair& pair);
std::uint8_t work_that_settles();  // the wait of a small send that its next start would see to

// These launch from one to largest_batch pairs.
cudaError_t launch_starts(const Launch& launch, std::span<const Pair> pairs);
cudaError_t launch_waits(const Launch& launch, std::span<const Pair> pairs);
// Both at once, in one kernel, where nothing of a pair's is touched by its start and its wait: so
// small sends start, and small receives are waited for. As each end of a pair runs its state
// machine alone, the two are to the protocol what they are in two kernels. Blocks that wait keep
// their places, so all together are no more than a kernel's that waits.
bool leaves_no_wait(
    const Pair& pair) noexcept;  // a start behind which nothing has to be waited for
bool fit_together(std::span<const Pair> starts, std::span<const Pair> waits) noexcept;
cudaError_t launch_together(const Launch& launch, std::span<const Pair> starts,
                            std::span<const Pair> waits);
// Loads every kernel onto the current device and runs each once without a pair: the first launch of
// a kernel may need the device idle, and later it may not be.
cudaError_t load_kernels(const Launch& launch);

}  // namespace penstock::peer_gpu
