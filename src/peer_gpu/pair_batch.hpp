// SPDX-License-Identifier: Apache-2.0
// The pairs that an enqueue call starts or waits for, which one kernel will serve.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "gpu/launch_batch.hpp"
#include "peer_gpu/gate.hpp"
#include "peer_gpu/kernels.hpp"

namespace penstock::peer_gpu {

using gpu::CallBatch;

class PairList {
 public:
  bool empty() const noexcept { return count_ == 0; }
  bool takes(const Pair&, const Gating&) const noexcept { return count_ < pairs_.size(); }
  void add(const Pair& pair, const Gating& gating) noexcept {
    pairs_[count_++] = pair;
    if (gating) gatings_[gated_++] = gating;
  }
  cudaError_t launch_starts(const Launch& launch) const noexcept {
    return launch_by(launch, &penstock::peer_gpu::launch_starts);
  }
  cudaError_t launch_waits(const Launch& launch) const noexcept {
    return launch_by(launch, &penstock::peer_gpu::launch_waits);
  }
  // A call's starts and waits in one kernel: see launch_together().
  bool awaits_waits() const noexcept {
    return gated_ == 0 && std::all_of(pairs_.begin(), pairs_.begin() + count_, leaves_no_wait);
  }
  bool fits_with(const PairList& waits) const noexcept {
    return awaits_waits() && waits.gated_ == 0 && fit_together(pairs(), waits.pairs());
  }
  cudaError_t launch_together(const Launch& launch, const PairList& waits) const noexcept {
    return peer_gpu::launch_together(launch, pairs(), waits.pairs());
  }
  template <class Visit>
  void each(Visit visit) const noexcept {
    for (std::size_t i = 0; i < count_; ++i) visit(pairs_[i].id);
  }
  void clear() noexcept { count_ = gated_ = 0; }

 private:
  using LaunchPairs = cudaError_t (*)(const Launch&, std::span<const Pair>);

  cudaError_t launch_by(const Launch& launch, LaunchPairs launch_pairs) const noexcept {
    return behind_gates(launch, {gatings_.data(), gated_},
                        [&](const Launch& behind) { return launch_pairs(behind, pairs()); });
  }
  std::span<const Pair> pairs() const noexcept { return {pairs_.data(), count_}; }

  std::size_t count_ = 0;
  std::size_t gated_ = 0;
  std::array<Pair, largest_batch> pairs_;
  std::array<Gating, largest_batch> gatings_;
};

using PairBatch = CallBatch<PairList>;

}  // namespace penstock::peer_gpu
