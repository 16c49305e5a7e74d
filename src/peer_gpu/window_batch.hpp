// SPDX-License-Identifier: Apache-2.0
// The ends of windows that one kernel will serve: posts, then completes, then waits. Blocks stand
// in this order, so that none that waits stands before one that does not. Any other order begins a
// new kernel: a put may read the window that a later post exposes.
#pragma once

#include <array>
#include <span>

#include "gpu/kernel_queue.hpp"
#include "peer_gpu/gate.hpp"
#include "peer_gpu/window_item.hpp"

namespace penstock::peer_gpu {

class WindowBatch final : public gpu::LaunchBatch {
 public:
  explicit WindowBatch(gpu::KernelQueue& queue) noexcept : queue_(queue) {}

  // What the item has as `first` and `count` is set here.
  void add(WindowItem item, const Gating& gating,
           std::span<const transport::Operation> list) noexcept;
  bool empty() const noexcept override { return count_ == 0; }
  cudaError_t launch(const Launch& launch) noexcept override;

 private:
  bool takes(const WindowItem& item, std::size_t operations) const noexcept;
  cudaError_t launch_range(const Launch& launch, std::size_t from, std::size_t to) const noexcept;
  cudaError_t launch_behind_gates(const Launch& launch) const noexcept;

  gpu::KernelQueue& queue_;
  std::size_t count_ = 0;
  std::size_t listed_ = 0;
  bool gated_ = false;
  std::array<WindowItem, largest_batch> items_;
  std::array<Gating, largest_batch> gatings_;  // by item; some are empty
  std::array<transport::Operation, most_operations> operations_;
};

}  // namespace penstock::peer_gpu
