// SPDX-License-Identifier: Apache-2.0
// Starts and waits of pairs that are served by a ring. Each thread, or set of threads that shares a unit, runs the
// state machine for units of its own.
#pragma once

#include "protocol/ring.hpp"
#include "transport/cuda/patience.cuh"
#include "transport/peer/cuda/failure.cuh"
#include "transport/peer/cuda/ring_port.cuh"
#include "transport/peer/cuda/start_receive.cuh"

namespace penstock::transport::peer::cuda {

namespace ring = protocol::ring;

// No barrier stands before the message.
__device__ inline Context look_alone(const Reports& reports, const Pair& pair) {
  return {reports, reports.sticky.failed, pair.half->given_up};
}

__device__ inline SendState load_send(const Half& half) {
  SendState state;
  state.done = half.done;
  state.posted = has_started(half, half.done + 1);
  return state;
}

__device__ inline ReceiveState load_receive(const Half& half) {
  ReceiveState state;
  state.done = half.done;
  return state;
}

// One thread's, or that of all threads that share a unit. Looks until the protocol says that the wait has ended. False:
// it was ended from outside, and a last look was in vain, too; what it is for may have come just before the peer went.
template <class RingPort, class Step>
__device__ bool poll_alone(const Context& context, const Pair& pair, Word64 epoch, Step step) {
  if (step() == Progress::ended) return true;
  Patience patience(context.report, pair.id, epoch);
  if (!RingPort::any(context.failed != 0)) {
    do {
#pragma unroll 1
      for (unsigned look = 0; look < Patience::looks_between; ++look) {
        if (step() != Progress::ended) continue;
        patience.ended();
        return true;
      }
    } while (!RingPort::any(patience.late()));
  }
  patience.ended();
  return step() == Progress::ended;
}

// The wait of a small standard or ready send has no kernel of its own: the next start settles it (protocol/ring.hpp).
// All that is read first is read at once: each look at memory costs as much as the message's way.
template <Mode mode, class RingPort>
__device__ bool start_part(const Context& context, const Pair& pair, unsigned part, bool last) {
  constexpr bool has_wait = ring::send_has_wait(mode, rings_are_deferred);
  Half& half = pair.half[part];
  RingPort port(pair, part);
  port.fetch();
  SendState state = load_send(half);
  if constexpr (!has_wait) port.look_at_fin();
  const bool twice = has_wait && state.posted;
  const Word64 epoch = ring::next_epoch(state, has_wait);
  bool goes = !RingPort::any((context.failed | context.given_up) != 0 || twice);
  if (goes && state.posted)
    goes = poll_alone<RingPort>(context, pair, state.done + 1, [&] { return ring::settle_send<mode>(port, state); });
  if (last) let_successor_in();
  StartOutcome outcome = StartOutcome::started;
  if (goes) outcome = ring::start_send<mode>(port, state);
  const bool not_ready = outcome != StartOutcome::started;
  if (__syncthreads_or(!goes || not_ready) != 0) {
    const bool anybody_not_ready = __syncthreads_or(not_ready) != 0;
    fail<Route::ring>(context, pair, epoch,
                      twice               ? Failure::started_twice
                      : anybody_not_ready ? Failure::not_ready
                                          : Failure::released);
    return false;
  }
  if (threadIdx.x == 0) {
    half.done = state.done;
    half.started = started(epoch, Left::nothing);
  }
  return true;
}

template <Mode mode, class RingPort>
struct StartRingSend {
  static __device__ void run(const Reports& reports, const Pair& pair, const Place& place) {
    const Context context = look_alone(reports, pair);
    for (unsigned part = place.index; part < pair.parts; part += place.blocks)
      if (!start_part<mode, RingPort>(context, pair, part, part + place.blocks >= pair.parts)) return;
  }
};

template <class RingPort>
__device__ bool receive_part(const Context& context, const Pair& pair, unsigned part, bool last) {
  Half& half = pair.half[part];
  RingPort port(pair, part);
  ReceiveState state = load_receive(half);
  const Word64 epoch = state.done + 1;
  bool ended = false;
  if (!RingPort::any(context.given_up != 0))
    ended = poll_alone<RingPort>(context, pair, epoch, [&] { return ring::wait_receive(port, state); });
  if (last) let_successor_in();
  if (__syncthreads_or(!ended) != 0) {
    fail<Route::ring>(context, pair, epoch, Failure::released);
    return false;
  }
  if (threadIdx.x == 0) half.done = state.done;
  return true;
}

template <class RingPort>
struct WaitRingReceive {
  static __device__ void run(const Reports& reports, const Pair& pair, const Place& place) {
    const Context context = look_alone(reports, pair);
    for (unsigned part = place.index; part < pair.parts; part += place.blocks)
      if (!receive_part<RingPort>(context, pair, part, part + place.blocks >= pair.parts)) return;
  }
};

// A synchronous send ends when its receive has been started. One block sees to it for all.
struct WaitRingSend {
  static __device__ void run(const Reports& reports, const Pair& pair, const Place&) {
    using Port = RingPort<Cells<Fit::words>, 1>;  // for its words alone
    const Context context = look_alone(reports, pair);
    Port port(pair, 0);
    SendState state = load_send(*pair.half);
    const Word64 epoch = state.done + 1;
    const bool ended = context.given_up == 0 && poll_alone<Port>(context, pair, epoch, [&] {
                         return ring::wait_send<Mode::synchronous>(port, state);
                       });
    let_successor_in();
    if (__syncthreads_or(!ended) != 0) return fail<Route::ring>(context, pair, epoch, Failure::released);
    for (unsigned part = threadIdx.x; part < pair.parts; part += blockDim.x) pair.half[part].done = epoch;
  }
};

// Says that the receive of a small synchronous send, or of a checked ready one, is started.
struct StartRingReceive {
  static __device__ void run(const Reports& reports, const Pair& pair, const Place&) {
    announce<Route::ring>(look_alone(reports, pair), pair);
  }
};

}  // namespace penstock::transport::peer::cuda
