// SPDX-License-Identifier: Apache-2.0
// The ends of windows that one kernel will serve: posts, then completes, then waits. Blocks stand
// in this order, so that none that waits stands before one that does not.
//
// Any other order begins a new kernel: a put may read the window that a later post exposes. So does
// a complete of another call where either has gets, whose buffers the other may read or write.
#pragma once

#include <array>
#include <atomic>
#include <span>

#include "gpu/kernel_queue.hpp"
#include "peer_gpu/gate.hpp"
#include "peer_gpu/window_item.hpp"

namespace penstock::peer_gpu {

class WindowBatch final : public gpu::LaunchBatch {
 public:
  // Where it does not merge, each end has a kernel of its own, and so has each operation.
  WindowBatch(gpu::KernelQueue& queue, bool merges) noexcept : queue_(queue), merges_(merges) {}
  std::size_t most_operations_of_a_kernel() const noexcept { return merges_ ? most_operations : 1; }

  // What the item has as `first` and `count` is set here. `gathered` is set until it is launched.
  void add(WindowItem item, const Gating& gating, std::span<const transport::Operation> list,
           std::atomic<bool>& gathered) noexcept;
  bool empty() const noexcept override { return count_ == 0; }
  void end_call() noexcept override { ++call_; }
  cudaError_t launch(const Launch& launch) noexcept override;

 private:
  // What is not the kernel's.
  struct Gathered {
    Gating gating;
    unsigned call = 0;
    std::atomic<bool>* flag = nullptr;
  };
  bool takes(const WindowItem& item, std::span<const transport::Operation> list) const noexcept;
  cudaError_t launch_range(const Launch& launch, std::size_t from, std::size_t to) const noexcept;
  cudaError_t launch_call_by_call(const Launch& launch) const noexcept;
  bool joins(std::size_t first, std::size_t next) const noexcept;

  gpu::KernelQueue& queue_;
  const bool merges_;
  std::size_t count_ = 0;
  std::size_t listed_ = 0;
  unsigned call_ = 0;
  bool gated_ = false;
  bool has_gets_ = false;
  std::array<WindowItem, largest_batch> items_;
  std::array<Gathered, largest_batch> gathered_;  // by item
  std::array<transport::Operation, most_operations> operations_;
};

}  // namespace penstock::peer_gpu
