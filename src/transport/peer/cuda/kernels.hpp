// SPDX-License-Identifier: Apache-2.0
// The two kernels of the CUDA form: one for all the starts of an enqueue call, one for all its waits.
#pragma once

#include <cuda_runtime_api.h>

#include <span>

#include "transport/peer/cuda/batch.hpp"

namespace penstock::transport::peer::cuda {

// The most threads a block of ours has. With 256, messages from 128 KiB on took 8 to 20 % longer.
inline constexpr unsigned most_threads = 512;

struct Launch {
  cudaStream_t stream = nullptr;
  Report* report = nullptr;  // as the device addresses it
  Sticky* sticky = nullptr;
  bool dependent = true;  // programmatic dependent launch, where the device has it
};

// At most largest_batch pairs.
cudaError_t launch_starts(const Launch& launch, std::span<const Pair> pairs);
cudaError_t launch_waits(const Launch& launch, std::span<const Pair> pairs);
// Loads every kernel onto the current device and runs each once without a pair: the first launch of a kernel may need
// the device idle, and later it may not be.
cudaError_t load_kernels(const Launch& launch);

}  // namespace penstock::transport::peer::cuda
