// SPDX-License-Identifier: Apache-2.0
// Starts and waits of pairs that are served by a ring. Each thread, or set of threads that shares a
// unit, runs the state machine for units of its own.
#pragma once

#include "peer_gpu/ring_port.cuh"
#include "peer_gpu/start_receive.cuh"
#include "peer_gpu/thread_poll.cuh"
#include "protocol/ring.hpp"

namespace penstock::peer_gpu {

namespace ring = protocol::ring;

// Each thread reads it for itself, so that no barrier stands before the message.
__device__ Context read_context(const Reports& reports, const Pair& pair) {
  return {reports, reports.queue_failure.failed, pair.words->given_up};
}

__device__ SendState load_send(const PartWords& words) {
  SendState state;
  state.done = words.done;
  state.posted = has_started(words, words.done + 1);
  return state;
}

__device__ ReceiveState load_receive(const PartWords& words) {
  ReceiveState state;
  state.done = words.done;
  return state;
}

// The part at which a block begins: `word` is what doing a part changes.
template <Form form>
__device__ unsigned first_part(const Pair& pair, const BlockIndex& place, Word64 PartWords::*word) {
  if constexpr (form == Form::all_stay) return place.index;
  return protocol::relief::first_part(place.index, place.blocks, pair.parts,
                                      [&](unsigned part) { return pair.words[part].*word; });
}

// A part that has not come to its end, for all threads of the block: they fail, or leave. A ring's
// blocks wait for none of each other, so any may be the one that stays: the first one may have its
// parts, and be gone, while those of others are yet to be sent.
template <Form form>
__device__ void leave_or_fail(const Context& context, const Pair& pair, Word64 epoch,
                              PollEnd polled, Failure why, Crew<form>& crew) {
  if (form == Form::one_stays && __syncthreads_or(polled == PollEnd::ended) == 0)
    return crew.leave(true);
  fail<Path::ring>(context, pair, epoch, why);
}

// The wait of a small standard or ready send has no kernel of its own: the next start settles it
// (protocol/ring.hpp). All that is read first is read at once: each look at memory costs as much as
// the message's way. Where some threads leave, others may have sent: whoever begins the duty anew
// sends the same once more.
template <Form form, protocol::Mode mode, class RingPort>
__device__ bool start_part(const Context& context, const Pair& pair, const BlockIndex& place,
                           unsigned part, Crew<form>& crew) {
  constexpr bool has_wait = ring::send_has_wait(mode, rings_are_deferred);
  PartWords& words = pair.words[part];
  RingPort port(pair, part);
  port.fetch();
  SendState state = load_send(words);
  if constexpr (!has_wait) port.poll_fin();
  const bool twice = has_wait && state.posted;
  const Word64 epoch = ring::next_epoch(state, has_wait);
  PollEnd polled = RingPort::any((context.failed | context.given_up) != 0 || twice)
                       ? PollEnd::ended
                       : PollEnd::found;
  if (polled == PollEnd::found && state.posted) {
    polled = poll_alone<form, RingPort>(context, pair, state.done + 1, crew,
                                        [&] { return ring::settle_send<mode>(port, state); });
  }
  if (part + place.blocks >= pair.parts && form == Form::all_stay) let_successor_in();
  StartOutcome outcome = StartOutcome::started;
  if (polled == PollEnd::found) {
    // The host's memory is far away: what is stored there first has arrived when the message has.
    if (part == 0 && threadIdx.x == 0) open_peers_gate(pair, epoch);
    outcome = ring::start_send<mode>(port, state);
  }
  if (outcome != StartOutcome::started) polled = PollEnd::ended;
  if (__syncthreads_or(polled != PollEnd::found) != 0) {
    const bool not_ready = __syncthreads_or(outcome != StartOutcome::started) != 0;
    const Failure why = twice       ? Failure::started_twice
                        : not_ready ? Failure::not_ready
                                    : Failure::released;
    leave_or_fail(context, pair, epoch, polled, why, crew);
    return false;
  }
  if (threadIdx.x == 0) {
    words.done = state.done;
    words.started = started(epoch, Left::nothing);
  }
  return true;
}

// What has been taken stays in its slot until the next wait says FIN, so a duty that is begun anew
// takes it again.
template <Form form, class RingPort>
__device__ bool receive_part(const Context& context, const Pair& pair, const BlockIndex& place,
                             unsigned part, Crew<form>& crew) {
  PartWords& words = pair.words[part];
  RingPort port(pair, part);
  ReceiveState state = load_receive(words);
  const Word64 epoch = state.done + 1;
  PollEnd polled = PollEnd::ended;
  if (!RingPort::any(context.given_up != 0)) {
    polled = poll_alone<form, RingPort>(context, pair, epoch, crew,
                                        [&] { return ring::wait_receive(port, state); });
  }
  const bool all_found = __syncthreads_and(polled == PollEnd::found) != 0;
  if (part + place.blocks >= pair.parts && form == Form::all_stay) let_successor_in();
  if (!all_found) {
    leave_or_fail(context, pair, epoch, polled, Failure::released, crew);
    return false;
  }
  if (threadIdx.x == 0) {
    words.done = state.done;
    if (part == 0 && epoch > 1) open_peers_gate(pair, epoch - 1);  // whose room has been told of
  }
  return true;
}

template <protocol::Mode mode, class RingPort>
struct StartRingSend {
  template <Form form>
  static __device__ void run(const Reports& reports, const Pair& pair, const BlockIndex& place,
                             Crew<form>& crew) {
    const Context context = read_context(reports, pair);
    for (unsigned part = first_part<form>(pair, place, &PartWords::started); part < pair.parts;
         part += place.blocks)
      if (!start_part<form, mode, RingPort>(context, pair, place, part, crew)) return;
  }
};

template <class RingPort>
struct WaitRingReceive {
  template <Form form>
  static __device__ void run(const Reports& reports, const Pair& pair, const BlockIndex& place,
                             Crew<form>& crew) {
    const Context context = read_context(reports, pair);
    for (unsigned part = first_part<form>(pair, place, &PartWords::done); part < pair.parts;
         part += place.blocks)
      if (!receive_part<form, RingPort>(context, pair, place, part, crew)) return;
  }
};

// A synchronous send ends when its receive has been started. One block sees to it for all.
struct WaitRingSend {
  template <Form form>
  static __device__ void run(const Reports& reports, const Pair& pair, const BlockIndex&,
                             Crew<form>& crew) {
    using Port = RingPort<Cells<Fit::words>, 1>;  // for its words alone
    const Context context = read_context(reports, pair);
    Port port(pair, 0);
    SendState state = load_send(*pair.words);
    const Word64 epoch = state.done + 1;
    PollEnd polled = PollEnd::ended;
    if (context.given_up == 0)
      polled = poll_alone<form, Port>(context, pair, epoch, crew, [&] {
        return ring::wait_send<protocol::Mode::synchronous>(port, state);
      });
    if (form == Form::all_stay) let_successor_in();
    if (__syncthreads_or(polled != PollEnd::found) != 0)
      return leave_or_fail(context, pair, epoch, polled, Failure::released, crew);
    for (unsigned part = threadIdx.x; part < pair.parts; part += blockDim.x)
      pair.words[part].done = epoch;
  }
};

// The wait of a small standard or ready send, where its next start may not wait: one block looks at
// all parts. Nothing is to be done if nothing has been started since.
struct SettleRingSend {
  template <Form form>
  static __device__ void run(const Reports& reports, const Pair& pair, const BlockIndex&,
                             Crew<form>& crew) {
    using Port = RingPort<Cells<Fit::words>, 1>;  // for its words alone
    const Context context = read_context(reports, pair);
    Word64 epoch = pair.words->done + 1;
    PollEnd polled = context.given_up == 0 ? PollEnd::found : PollEnd::ended;
    for (unsigned part = threadIdx.x; part < pair.parts && polled == PollEnd::found;
         part += blockDim.x) {
      Port port(pair, part);
      SendState state = load_send(pair.words[part]);
      polled = poll_alone<form, Port>(context, pair, epoch, crew, [&] {
        return ring::settle_send<protocol::Mode::standard>(port, state);
      });
      if (polled == PollEnd::found) pair.words[part].done = state.done;
    }
    if (form == Form::all_stay) {
      __syncthreads();
      let_successor_in();
    }
    if (__syncthreads_or(polled != PollEnd::found) != 0)
      leave_or_fail(context, pair, epoch, polled, Failure::released, crew);
  }
};

// Says that the receive of a small synchronous send, or of a checked ready one, is started.
struct StartRingReceive {
  template <Form form>
  static __device__ void run(const Reports& reports, const Pair& pair, const BlockIndex&,
                             Crew<form>&) {
    announce<Path::ring>(read_context(reports, pair), pair);
  }
};

}  // namespace penstock::peer_gpu
