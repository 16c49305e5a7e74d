// SPDX-License-Identifier: Apache-2.0
// The start of a receive that its sender has to be told of.
#pragma once

#include "peer_gpu/failure.cuh"
#include "peer_gpu/open_gate.cuh"

namespace penstock::peer_gpu {

using gpu::let_successor_in;

// Release: this end's earlier use of its buffer comes before the peer's push into it.
template <Path path>
__device__ void announce(const Context& context, const Pair& pair) {
  let_successor_in();
  bool goes = true;
  bool twice = false;
  Word64 epoch = 0;
  if (threadIdx.x == 0) {
    epoch = pair.words->done + 1;
    twice = has_started(*pair.words, epoch);
    goes = context.failed == 0 && context.given_up == 0 && !twice;
    if (goes) {
      pair.words->started = started(epoch, Left::nothing);
      SystemWord(pair.sender->cts).store(epoch, ::cuda::memory_order_release);
      open_peers_gate(pair, epoch);
    }
  }
  if (__syncthreads_or(!goes) != 0)
    fail<path>(context, pair, epoch, twice ? Failure::started_twice : Failure::released);
}

}  // namespace penstock::peer_gpu
