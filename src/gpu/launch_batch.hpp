// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/kernel_queue.hpp"

namespace penstock::gpu {

// What an enqueue call starts, and what it waits for, until one kernel serves all of either. A List
// holds as much as one kernel takes: empty(), takes(item), add(item), launch_starts(launch),
// launch_waits(launch), clear(), and each(visit) with the id of each item's plan.
template <class List>
class CallBatch final : public LaunchBatch {
 public:
  explicit CallBatch(KernelQueue& queue) noexcept : queue_(queue) {}

  template <class... Item>
  void start(const Item&... item) noexcept {
    put(starts_, item...);
  }
  template <class... Item>
  void wait(const Item&... item) noexcept {
    put(waits_, item...);
  }
  bool empty() const noexcept override { return starts_.empty() && waits_.empty(); }
  cudaError_t launch(const Launch& launch) noexcept override {
    // Of what does not run, no kernel can tell the peers.
    const auto poison = [this](std::uint32_t id) { queue_.poison(id); };
    cudaError_t code = cudaSuccess;
    if (!starts_.empty()) code = starts_.launch_starts(launch);
    if (code != cudaSuccess) starts_.each(poison);
    if (!waits_.empty() && code == cudaSuccess) code = waits_.launch_waits(launch);
    if (code != cudaSuccess) waits_.each(poison);
    starts_.clear();
    waits_.clear();
    return code;
  }

 private:
  template <class... Item>
  void put(List& to, const Item&... item) noexcept {
    if (!to.takes(item...)) queue_.flush();
    to.add(item...);
  }

  KernelQueue& queue_;
  List starts_;
  List waits_;
};

}  // namespace penstock::gpu
