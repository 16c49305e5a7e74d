// SPDX-License-Identifier: Apache-2.0
// The pairs that an enqueue call starts or waits for, which one kernel will serve.
#pragma once

#include <array>
#include <span>

#include "transport/cuda/board.hpp"
#include "transport/peer/cuda/gate.hpp"
#include "transport/peer/cuda/kernels.hpp"

namespace penstock::transport::peer::cuda {

class PairGathering final : public Gathering {
 public:
  explicit PairGathering(Board& board) noexcept : board_(board) {}

  void start(const Pair& pair, const Gating& gating) noexcept { gather(starts_, pair, gating); }
  void wait(const Pair& pair, const Gating& gating) noexcept { gather(waits_, pair, gating); }
  bool empty() const noexcept override { return starts_.count == 0 && waits_.count == 0; }
  cudaError_t launch(const Launch& launch) noexcept override {
    cudaError_t code = launch_all(launch, starts_, &launch_starts);
    if (code == cudaSuccess) code = launch_all(launch, waits_, &launch_waits);
    for (Gathered* each : {&starts_, &waits_}) each->count = each->gates = 0;
    return code;
  }

 private:
  struct Gathered {
    std::size_t count = 0;
    std::size_t gates = 0;
    std::array<Pair, largest_batch> pair;
    std::array<Gating, largest_batch> gating;
  };
  using LaunchPairs = cudaError_t (*)(const Launch&, std::span<const Pair>);

  // All gates first: each wait ends once the peer's start has run, so all of them do when all starts have.
  static cudaError_t launch_all(const Launch& launch, const Gathered& gathered, LaunchPairs launch_pairs) noexcept {
    if (gathered.count == 0) return cudaSuccess;
    const std::span pairs(gathered.pair.data(), gathered.count);
    if (gathered.gates == 0) return launch_pairs(launch, pairs);
    const std::span gates(gathered.gating.data(), gathered.gates);
    if (const cudaError_t code = stand_at_gates(launch, gates); code != cudaSuccess) return code;
    Launch behind = launch;
    behind.dependent = false;  // on a kernel, which a gate is not
    if (const cudaError_t code = launch_pairs(behind, pairs); code != cudaSuccess) return code;
    return tend_gates(launch, gates);
  }

  void gather(Gathered& to, const Pair& pair, const Gating& gating) noexcept {
    to.pair[to.count++] = pair;
    if (gating) to.gating[to.gates++] = gating;
    if (to.count == to.pair.size()) board_.flush();
  }

  Board& board_;
  Gathered starts_;
  Gathered waits_;
};

}  // namespace penstock::transport::peer::cuda
