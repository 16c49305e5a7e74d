// SPDX-License-Identifier: Apache-2.0
// The wait of a thread that runs a state machine for units of its own.
#pragma once

#include "gpu/poll_timer.cuh"
#include "peer_gpu/crew.cuh"
#include "peer_gpu/failure.cuh"
#include "peer_gpu/poll_end.cuh"

namespace penstock::peer_gpu {

// The poll of one thread, or of all threads that share a unit. It looks until the protocol says
// that the wait has ended, or until it is to leave or to end. Then it looks once more, as what it
// is for may have come just before the peer went.
template <Form form, class Port, class Step>
__device__ PollEnd poll_alone(const Context& context, const Pair& pair, Word64 epoch,
                              const Crew<form>& crew, Step step) {
  if (step() == Progress::ended) return PollEnd::found;
  PollTimer timer(context, pair.id, pair.notice->awaited, epoch);
  Request request = Request::end;
  if (!Port::any(context.failed != 0)) {
    do {
#pragma unroll 1
      for (unsigned look = 0; look < PollTimer::polls_between; ++look) {
        if (step() != Progress::ended) continue;
        timer.ended();
        return PollEnd::found;
      }
      request = Crew<form>::ask(timer);
      if (request == Request::leave && crew.stays()) request = Request::go_on;
    } while (!Port::any(request != Request::go_on));
  }
  timer.ended();
  if (step() == Progress::ended) return PollEnd::found;
  return form == Form::all_stay || Port::any(request == Request::end) ? PollEnd::ended
                                                                      : PollEnd::left;
}

}  // namespace penstock::peer_gpu
