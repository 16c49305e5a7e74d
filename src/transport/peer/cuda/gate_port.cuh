// SPDX-License-Identifier: Apache-2.0
// A gate's words, as kernels of either end see them.
#pragma once

#include "protocol/gate.hpp"
#include "transport/cuda/access.cuh"
#include "transport/peer/cuda/batch.hpp"

namespace penstock::transport::peer::cuda {

class GatePort {
 public:
  __device__ explicit GatePort(Gate& gate) : words_(gate.words) {}

  __device__ void store_both(protocol::gate::Words words) const {
    SystemWord(reinterpret_cast<Word64&>(words_))
        .store(words.open | static_cast<Word64>(words.posted) << 32, ::cuda::memory_order_relaxed);
  }
  __device__ std::uint32_t load_posted() const { return Half(words_.posted).load(::cuda::memory_order_relaxed); }
  __device__ void store_open(std::uint32_t open) const { Half(words_.open).store(open, ::cuda::memory_order_relaxed); }
  __device__ static void fence() {
    ::cuda::atomic_thread_fence(::cuda::memory_order_seq_cst, ::cuda::thread_scope_system);
  }

 private:
  using Half = ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_system>;

  protocol::gate::Words& words_;
};

// One thread's: what this kernel has done for the epoch lets the peer's kernel begin.
__device__ inline void open_peers_gate(const Pair& pair, Word64 epoch) {
  if (pair.posts == nullptr) return;
  GatePort gate(*pair.posts);
  protocol::gate::post(gate, epoch);
}

}  // namespace penstock::transport::peer::cuda
