// SPDX-License-Identifier: Apache-2.0
// Where the kernels of a queue report that it has failed.
#pragma once

#include "gpu/access.cuh"

namespace penstock::gpu {

struct Reports {
  Report& report;
  QueueFailure& queue_failure;
};

// One thread's. The first failure of a queue is the one that is reported: true, if this is it.
__device__ inline bool fails_first(const Reports& reports) {
  return DeviceWord(reports.queue_failure.failed).exchange(1, ::cuda::memory_order_relaxed) == 0;
}

// Release: what the host finds when it has read this comes before.
__device__ inline void report(const Reports& reports, std::uint32_t id, Failure why) {
  SystemWord(reports.report.failed)
      .store(static_cast<Word64>(why) << 32 | (id + 1u), ::cuda::memory_order_release);
}

__device__ inline void report_first(const Reports& reports, std::uint32_t id, Failure why) {
  if (fails_first(reports)) report(reports, id, why);
}

}  // namespace penstock::gpu
