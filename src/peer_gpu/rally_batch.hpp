// SPDX-License-Identifier: Apache-2.0
// The direct exchanges that an enqueue call starts or waits for, which one kernel will serve.
#pragma once

#include <array>

#include "gpu/launch_batch.hpp"
#include "peer_gpu/rally_kernels.hpp"

namespace penstock::peer_gpu {

class RallyList {
 public:
  bool empty() const noexcept { return count_ == 0; }
  bool takes(const RallyItem&) const noexcept { return count_ < items_.size(); }
  void add(const RallyItem& item) noexcept { items_[count_++] = item; }
  cudaError_t launch_starts(const Launch& launch) const noexcept { return launch_all(launch); }
  cudaError_t launch_waits(const Launch& launch) const noexcept { return launch_all(launch); }
  template <class Visit>
  void each(Visit visit) const noexcept {
    for (std::size_t i = 0; i < count_; ++i) visit(items_[i].id);
  }
  void clear() noexcept { count_ = 0; }

 private:
  cudaError_t launch_all(const Launch& launch) const noexcept {
    return launch_rallies(launch, {items_.data(), count_});
  }

  std::size_t count_ = 0;
  std::array<RallyItem, largest_rally_batch> items_;
};

using RallyBatch = gpu::CallBatch<RallyList>;

}  // namespace penstock::peer_gpu
