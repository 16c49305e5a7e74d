// SPDX-License-Identifier: Apache-2.0
// The kernel of enqueued messages: the triggers and the waits of queues are one each, whatever they
// hold.
#pragma once

#include <gpu_runtime.hpp>
#include <span>

#include "enqueued/gpu/copy_work.hpp"
#include "gpu/launch.hpp"

namespace penstock::enqueued {

using gpu::Launch;

inline constexpr std::size_t largest_copy_batch = 28;  // kernels take 4 KiB

// At most largest_copy_batch copies.
cudaError_t launch_copies(const Launch& launch, const BundleStep& step,
                          std::span<const CopyWork> copies);
// Loads the kernels onto the current device: their first launch may need the device idle, and later
// it may not be.
cudaError_t load_copies(const Launch& launch);

}  // namespace penstock::enqueued
