// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>

#include "gpu/kernel_queue.hpp"

namespace penstock::gpu {

// A List one kernel of which may serve starts and waits at once: awaits_waits() says it of its
// starts; fits_with(waits) of both; launch_together(launch, waits).
template <class List>
concept Joins = requires(const List& starts, const List& waits, const Launch& launch) {
  { starts.awaits_waits() } -> std::same_as<bool>;
  { starts.fits_with(waits) } -> std::same_as<bool>;
  { starts.launch_together(launch, waits) } -> std::same_as<cudaError_t>;
};

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
  bool awaits_waits() const noexcept override {
    if constexpr (Joins<List>)
      return waits_.empty() && starts_.awaits_waits();
    else
      return false;
  }
  cudaError_t launch(const Launch& launch) noexcept override {
    const cudaError_t code = joined(launch) ? launch_together(launch) : launch_apart(launch);
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
  bool joined(const Launch& launch) const noexcept {
    if constexpr (Joins<List>)
      return !launch.crowded && !starts_.empty() && !waits_.empty() && starts_.fits_with(waits_);
    else
      return false;
  }
  cudaError_t launch_together(const Launch& launch) noexcept {
    cudaError_t code = cudaSuccess;
    if constexpr (Joins<List>) code = starts_.launch_together(launch, waits_);
    if (code != cudaSuccess) poison(starts_);
    if (code != cudaSuccess) poison(waits_);
    return code;
  }
  cudaError_t launch_apart(const Launch& launch) noexcept {
    cudaError_t code = cudaSuccess;
    if (!starts_.empty()) code = starts_.launch_starts(launch);
    if (code != cudaSuccess) poison(starts_);
    if (!waits_.empty() && code == cudaSuccess) code = waits_.launch_waits(launch);
    if (code != cudaSuccess) poison(waits_);
    return code;
  }
  // Of what does not run, no kernel can tell the peers.
  void poison(const List& list) noexcept {
    list.each([this](std::uint32_t id) { queue_.poison(id); });
  }

  KernelQueue& queue_;
  List starts_;
  List waits_;
};

}  // namespace penstock::gpu
