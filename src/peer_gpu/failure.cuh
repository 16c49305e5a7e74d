// SPDX-License-Identifier: Apache-2.0
// What a kernel knows about its queue and its pair when it begins, and how it gives a pair up.
#pragma once

#include "gpu/reports.cuh"
#include "peer_gpu/block_port.cuh"
#include "peer_gpu/window_words.cuh"
#include "protocol/rendezvous.hpp"

namespace penstock::peer_gpu {

using gpu::Failure, gpu::Reports, gpu::fails_first;
using protocol::Mode;
using protocol::Progress;
using protocol::ReceiveState;
using protocol::SendState;
using protocol::Side;
using protocol::StartOutcome;

struct Context : Reports {
  // Words as they were found, not 0 if so: a kernel asks for all that it needs before it looks at
  // the first answer.
  Word64 failed;    // the queue: its starts send nothing on, its waits look once more and end
  Word64 given_up;  // the pair: it is not touched any more, since the peer's words may serve
                    // another pair by now
};

// As a host's plan gives up: no wait of the peer begins to copy the epoch from now on, and a copy
// that it has begun does not count. One fence at the end, before the user may use the buffers
// again.
template <bool native, Side side>
__device__ void give_up_rendezvous(const Pair& pair, Word64 epoch) {
  Team team(pair, BlockIndex{}, Phase::wait, epoch);
  BlockPort<native> port(pair, team);
  if (pair.mode == protocol::Mode::ready)
    protocol::rendezvous::poison<protocol::Mode::ready, side>(port, epoch);
  else
    protocol::rendezvous::poison<protocol::Mode::standard, side>(port, epoch);
}

template <Path path>
__device__ void tell_peer(const Pair& pair, Word64 epoch) {
  if constexpr (!is_ring(path)) {
    if (agree(threadIdx.x == 0 && peer_is_dead(pair) ? 1 : 0) != 0) return;
    if constexpr (path == Path::window) {
      WindowWords words(pair);
      return pair.sends ? protocol::closing::close<Side::sender>(words, epoch)
                        : protocol::closing::close<Side::receiver>(words, epoch);
    }
    if (pair.native_atomics)
      pair.sends ? give_up_rendezvous<true, Side::sender>(pair, epoch)
                 : give_up_rendezvous<true, Side::receiver>(pair, epoch);
    else
      pair.sends ? give_up_rendezvous<false, Side::sender>(pair, epoch)
                 : give_up_rendezvous<false, Side::receiver>(pair, epoch);
  }
}

// The peer learns it before anybody here does; the host tells the peer's host.
template <Path path>
__device__ void tell(const Pair& pair, Word64 epoch) {
  tell_peer<path>(pair, epoch);
  // Release: when the host says CLOSED, the buffers may be in new use.
  if (threadIdx.x == 0)
    SystemWord(pair.notice->given_up).store(epoch, ::cuda::memory_order_release);
}

// All threads of a block call it in a kernel that copies nothing; `why` and `epoch` are thread 0's.
// The epoch is the first one that this end serves no more. The first failure of a queue is the one
// that is reported.
template <Path path>
__device__ __noinline__ void fail(Reports reports, const Pair& pair, Word64 epoch, Failure why) {
  DeviceWord given_up(pair.words->given_up);
  Word64 before = 0;
  bool first = false;
  if (threadIdx.x == 0) {
    // Acquire and release: if another block of this kernel has given the pair up, it comes first
    // below, too.
    before = given_up.load(::cuda::memory_order_acquire);
    first = fails_first(reports);
    if (team::is_to_be_told(before)) {
      epoch = team::epoch_given_up(before);
      before = 0;
    }
    if (before == 0) given_up.store(epoch, ::cuda::memory_order_release);
  }
  before = agree(before);
  if (before == 0) tell<path>(pair, epoch);
  if (first) report(reports, pair.id, before != 0 ? Failure::given_up : why);
}

// Of the block that is through last; `telling` is thread 0's. The host is told, too, if no block
// before has failed as the first of its queue and nothing else has: where the first one had no
// leader.
static __device__ __noinline__ void tell_both(Reports reports, const Pair& pair, Word64 epoch,
                                              bool host_too, Failure why) {
  if (threadIdx.x == 0) DeviceWord(pair.words->given_up).store(epoch, ::cuda::memory_order_release);
  tell<Path::rendezvous>(pair, epoch);
  if (threadIdx.x == 0 && (host_too || fails_first(reports))) report(reports, pair.id, why);
}
__device__ inline void tell_as_last(const Reports& reports, const Pair& pair, Word64 epoch,
                                    team::Telling telling, Failure why) {
  if (__syncthreads_or(telling.peer) != 0) tell_both(reports, pair, epoch, telling.host, why);
}

// The end of a block that is counted in a kernel that copies a message: whether its own part holds.
// Other blocks may still be in their copies, or yet to come: so the failure, which is always that
// the peer has closed, is told by the last one.
__device__ inline void end_of_copy(const Reports& reports, const Pair& pair, Team& team,
                                   Word64 epoch, bool holds) {
  team::Telling telling;
  if (threadIdx.x == 0) {
    if (holds) {
      telling = team.end_well();
    } else {
      // Blocks that come later find it, and copy nothing.
      DeviceWord(pair.words->given_up).store(epoch, ::cuda::memory_order_release);
      telling = team.end_badly(fails_first(reports));
    }
  }
  tell_as_last(reports, pair, epoch, telling, Failure::peer_closed);
}

// The end of a block whose leader has not come until the wait was to end (protocol/team.hpp). In
// the kernel of a start that is all: the wait behind it finds the half given up.
__device__ inline void end_without_leader(const Reports& reports, const Pair& pair, Team& team,
                                          Word64 epoch) {
  if (threadIdx.x == 0) {
    Word64 none = 0;
    DeviceWord(pair.words->given_up)
        .compare_exchange_strong(none, epoch | team::untold, ::cuda::memory_order_release,
                                 ::cuda::memory_order_relaxed);
  }
  team.be_through();
  if (!team.counted()) return;
  team::Telling telling;
  if (threadIdx.x == 0) telling = team.end_badly(false);
  tell_as_last(reports, pair, epoch, telling, Failure::released);
}

}  // namespace penstock::peer_gpu
