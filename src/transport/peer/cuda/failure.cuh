// SPDX-License-Identifier: Apache-2.0
// What a kernel knows about its queue and its pair when it begins, and how it gives a pair up.
#pragma once

#include "protocol/rendezvous.hpp"
#include "transport/cuda/reports.cuh"
#include "transport/peer/cuda/block_port.cuh"

namespace penstock::transport::peer::cuda {

using protocol::Mode;
using protocol::Progress;
using protocol::ReceiveState;
using protocol::SendState;
using protocol::Side;
using protocol::StartOutcome;

struct Context : Reports {
  // Words as they were found, not 0 if so: a kernel asks for all that it needs before it looks at the first answer.
  Word64 failed;    // the queue: its starts send nothing on, its waits look once more and end
  Word64 given_up;  // the pair: it is not touched any more, since the peer's words may serve another pair by now
};

// As a host's plan gives up: no wait of the peer begins to copy the epoch from now on, and a copy that it has begun
// does not count. One fence at the end, before the user may use the buffers again.
template <bool native, Side side>
__device__ void give_up_rendezvous(const Pair& pair, Word64 epoch) {
  Team team(pair, Place{}, Phase::wait, epoch);
  BlockPort<native> port(pair, team);
  if (pair.mode == Mode::ready)
    protocol::rendezvous::give_up<Mode::ready, side>(port, epoch);
  else
    protocol::rendezvous::give_up<Mode::standard, side>(port, epoch);
}

template <Route route>
__device__ void tell_peer(const Pair& pair, Word64 epoch) {
  if constexpr (route == Route::rendezvous) {
    if (agree(threadIdx.x == 0 ? SystemWord(pair.fate->peer_dead).load(::cuda::memory_order_relaxed) : 0) != 0) return;
    if (pair.native_atomics)
      pair.sends ? give_up_rendezvous<true, Side::sender>(pair, epoch)
                 : give_up_rendezvous<true, Side::receiver>(pair, epoch);
    else
      pair.sends ? give_up_rendezvous<false, Side::sender>(pair, epoch)
                 : give_up_rendezvous<false, Side::receiver>(pair, epoch);
  }
}

// All threads of a block; `why` and `epoch` are thread 0's. The epoch is the first one that this end serves no more.
// The peer learns it before anybody here learns of the failure; the host tells the peer's host. The first failure of a
// queue is the one that is reported.
template <Route route>
__device__ __noinline__ void fail(Reports reports, const Pair& pair, Word64 epoch, Failure why) {
  DeviceWord given_up(pair.half->given_up);
  Word64 before = 0;
  bool first = false;
  if (threadIdx.x == 0) {
    // Acquire and release: if another block of this kernel has given the pair up, it comes first below, too.
    before = given_up.load(::cuda::memory_order_acquire);
    first = fails_first(reports);
    if (before == 0) given_up.store(epoch, ::cuda::memory_order_release);
  }
  before = agree(before);
  if (before == 0) {
    tell_peer<route>(pair, epoch);
    // Release: when the host says CLOSED, the peer may use the memory for another pair.
    if (threadIdx.x == 0) SystemWord(pair.fate->given_up).store(epoch, ::cuda::memory_order_release);
  }
  if (first) report(reports, pair.id, before != 0 ? Failure::given_up : why);
}

}  // namespace penstock::transport::peer::cuda
