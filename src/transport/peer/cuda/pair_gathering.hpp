// SPDX-License-Identifier: Apache-2.0
// The pairs that an enqueue call starts or waits for, which one kernel will serve.
#pragma once

#include <array>

#include "transport/cuda/board.hpp"
#include "transport/peer/cuda/kernels.hpp"

namespace penstock::transport::peer::cuda {

class PairGathering final : public Gathering {
 public:
  explicit PairGathering(Board& board) noexcept : board_(board) {}

  void start(const Pair& pair) noexcept { gather(starts_, pair); }
  void wait(const Pair& pair) noexcept { gather(waits_, pair); }
  bool empty() const noexcept override { return starts_.count == 0 && waits_.count == 0; }
  cudaError_t launch(const Launch& launch) noexcept override {
    cudaError_t code = cudaSuccess;
    if (starts_.count > 0) code = launch_starts(launch, {starts_.pair.data(), starts_.count});
    if (waits_.count > 0 && code == cudaSuccess) code = launch_waits(launch, {waits_.pair.data(), waits_.count});
    starts_.count = waits_.count = 0;
    return code;
  }

 private:
  struct Gathered {
    std::size_t count = 0;
    std::array<Pair, largest_batch> pair;
  };
  void gather(Gathered& to, const Pair& pair) noexcept {
    to.pair[to.count++] = pair;
    if (to.count == to.pair.size()) board_.flush();
  }

  Board& board_;
  Gathered starts_;
  Gathered waits_;
};

}  // namespace penstock::transport::peer::cuda
