// SPDX-License-Identifier: Apache-2.0
// The kernels for messages with gaps: one packs all that an enqueue call starts, one unpacks all
// that it has waited for. They wait for no peer.
#pragma once

#include <array>
#include <gpu_runtime.hpp>
#include <span>

#include "gpu/launch.hpp"
#include "gpu/launch_batch.hpp"
#include "gpu/pack_work.hpp"

namespace penstock::gpu {

inline constexpr int largest_pack_batch = 16;

// From one to largest_pack_batch messages.
cudaError_t launch_packing(const Launch& launch, std::span<const PackWork> works);
cudaError_t launch_unpacking(const Launch& launch, std::span<const PackWork> works);
// Load the kernels onto the current device: their first launch may need the device idle, and later
// it may not be.
cudaError_t load_packing(const Launch& launch);
cudaError_t load_unpacking(const Launch& launch);

// The messages of an enqueue call that are packed before their starts, or unpacked behind their
// waits.
class PackList {
 public:
  bool empty() const noexcept { return count_ == 0; }
  bool takes(const PackWork&) const noexcept { return count_ < works_.size(); }
  void add(const PackWork& work) noexcept { works_[count_++] = work; }
  cudaError_t launch_starts(const Launch& launch) const noexcept {
    return launch_packing(launch, {works_.data(), count_});
  }
  cudaError_t launch_waits(const Launch& launch) const noexcept {
    return launch_unpacking(launch, {works_.data(), count_});
  }
  template <class Visit>
  void each(Visit visit) const noexcept {
    for (std::size_t i = 0; i < count_; ++i) visit(works_[i].id);
  }
  void clear() noexcept { count_ = 0; }

 private:
  std::size_t count_ = 0;
  std::array<PackWork, largest_pack_batch> works_;
};

// A queue has two: the starts of one are packed before all other kernels of a call, the waits of
// the other are unpacked behind them.
using PackBatch = CallBatch<PackList>;

}  // namespace penstock::gpu
