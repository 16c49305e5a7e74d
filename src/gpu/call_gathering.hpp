// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/board.hpp"

namespace penstock::gpu {

// What an enqueue call starts, and what it waits for, until one kernel serves all of either. A List holds as much as
// one kernel takes: empty(), takes(item), add(item), launch_starts(launch), launch_waits(launch), clear(), and
// each(visit) with the id of each item's plan.
template <class List>
class CallGathering final : public Gathering {
 public:
  explicit CallGathering(Board& board) noexcept : board_(board) {}

  template <class... Item>
  void start(const Item&... item) noexcept {
    gather(starts_, item...);
  }
  template <class... Item>
  void wait(const Item&... item) noexcept {
    gather(waits_, item...);
  }
  bool empty() const noexcept override { return starts_.empty() && waits_.empty(); }
  cudaError_t launch(const Launch& launch) noexcept override {
    // Of what does not run, no kernel can tell the peers.
    const auto give_up = [this](std::uint32_t id) { board_.give_up(id); };
    cudaError_t code = cudaSuccess;
    if (!starts_.empty()) code = starts_.launch_starts(launch);
    if (code != cudaSuccess) starts_.each(give_up);
    if (!waits_.empty() && code == cudaSuccess) code = waits_.launch_waits(launch);
    if (code != cudaSuccess) waits_.each(give_up);
    starts_.clear();
    waits_.clear();
    return code;
  }

 private:
  template <class... Item>
  void gather(List& to, const Item&... item) noexcept {
    if (!to.takes(item...)) board_.flush();
    to.add(item...);
  }

  Board& board_;
  List starts_;
  List waits_;
};

}  // namespace penstock::gpu
