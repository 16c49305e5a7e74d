// SPDX-License-Identifier: Apache-2.0
// The posts that an enqueue call starts or waits for, which one kernel will serve.
#pragma once

#include <array>

#include "transport/cuda/board.hpp"
#include "transport/relay/cuda/kernels.hpp"

namespace penstock::transport::relay::cuda {

class PostGathering final : public transport::cuda::Gathering {
 public:
  explicit PostGathering(transport::cuda::Board& board) noexcept : board_(board) {}

  void start(const Post& post) noexcept { gather(starts_, post); }
  void wait(const Post& post) noexcept { gather(waits_, post); }
  bool empty() const noexcept override { return starts_.count == 0 && waits_.count == 0; }
  cudaError_t launch(const Launch& launch) noexcept override {
    cudaError_t code = cudaSuccess;
    if (starts_.count > 0) code = launch_starts(launch, {starts_.post.data(), starts_.count});
    if (waits_.count > 0 && code == cudaSuccess) code = launch_waits(launch, {waits_.post.data(), waits_.count});
    for (Gathered* each : {&starts_, &waits_}) each->count = each->blocks = 0;
    return code;
  }

 private:
  struct Gathered {
    std::size_t count = 0;
    std::size_t blocks = 0;
    std::array<Post, largest_batch> post;
  };
  void gather(Gathered& to, const Post& post) noexcept {
    if (to.count == to.post.size() || (to.count > 0 && to.blocks + post.blocks > most_blocks_together)) board_.flush();
    to.post[to.count++] = post;
    to.blocks += post.blocks;
  }

  transport::cuda::Board& board_;
  Gathered starts_;
  Gathered waits_;
};

}  // namespace penstock::transport::relay::cuda
