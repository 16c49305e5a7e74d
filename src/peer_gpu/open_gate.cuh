// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gpu/gate_port.cuh"
#include "peer_gpu/batch.hpp"

namespace penstock::peer_gpu {

using gpu::GatePort;

// One thread's: what this kernel has done for the epoch lets the peer's kernel begin.
__device__ inline void open_peers_gate(const Pair& pair, Word64 epoch) {
  if (pair.posts == nullptr) return;
  GatePort gate(pair.posts->words);
  protocol::gate::post(gate, epoch);
}

}  // namespace penstock::peer_gpu
