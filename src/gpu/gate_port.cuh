// SPDX-License-Identifier: Apache-2.0
// A gate's words, as kernels see them (protocol/gate.hpp).
#pragma once

#include "gpu/access.cuh"
#include "protocol/gate.hpp"

namespace penstock::gpu {

class GatePort {
 public:
  __device__ explicit GatePort(protocol::gate::GateWords& words) : words_(words) {}

  __device__ void store_both(protocol::gate::GateWords words) const {
    SystemWord(reinterpret_cast<Word64&>(words_))
        .store(words.open | static_cast<Word64>(words.posted) << 32, ::cuda::memory_order_relaxed);
  }
  __device__ std::uint32_t load_posted() const {
    return Word32(words_.posted).load(::cuda::memory_order_relaxed);
  }
  __device__ void store_open(std::uint32_t open) const {
    Word32(words_.open).store(open, ::cuda::memory_order_relaxed);
  }
  __device__ static void fence() {
    ::cuda::atomic_thread_fence(::cuda::memory_order_seq_cst, ::cuda::thread_scope_system);
  }

 private:
  using Word32 = ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_system>;

  protocol::gate::GateWords& words_;
};

}  // namespace penstock::gpu
