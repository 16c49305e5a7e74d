// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gpu_runtime.hpp>

#include "gpu/words.hpp"

namespace penstock::gpu {

// Where a queue's kernels run, and where they report.
struct Launch {
  cudaStream_t stream = nullptr;
  Report* report = nullptr;  // as the device addresses it
  QueueFailure* queue_failure = nullptr;
  bool dependent = true;  // programmatic dependent launch, where the code and the device have it
  // Many kernels may wait on the device: all blocks of this one but one leave.
  bool crowded = false;
};

}  // namespace penstock::gpu
