// SPDX-License-Identifier: Apache-2.0
// The wait of a block whose threads run a state machine alike.
#pragma once

#include "peer_gpu/crew.cuh"
#include "peer_gpu/failure.cuh"
#include "peer_gpu/poll_end.cuh"

namespace penstock::peer_gpu {

// A later kernel may have more blocks than this one, so each block speaks for those that it stands
// for. After a failure too: the blocks of a kernel must agree on its epoch.
__device__ inline void advance(const Pair& pair, const BlockIndex& place, Word64 epoch) {
  if (threadIdx.x != 0) return;
  for (unsigned part = place.index; part < pair.parts; part += place.blocks)
    pair.words[part].done = epoch;
}

// Looks until the protocol says that the wait has ended, or until the block is to leave or to end.
// A claim that it may have made, and a copy, stand for good, so it leaves only before that; but
// then the others still may.
template <Form form, class State, class Step>
__device__ PollEnd poll(const Context& context, const Pair& pair, Word64 epoch, Crew<form>& crew,
                        const State& state, Step step) {
  if (context.given_up != 0) return PollEnd::ended;
  PollTimer timer(context, pair.id, pair.notice->awaited, epoch);
  Request request = context.failed != 0 ? Request::end : Request::go_on;
  bool ended = step() == Progress::ended;
  for (unsigned looks = 1; !ended && request == Request::go_on; ++looks) {
    // Only thread 0's clock counts, so that the block stays together.
    if (looks % PollTimer::polls_between == 0) {
      const Request mine = threadIdx.x == 0 ? Crew<form>::ask(timer) : Request::go_on;
      request = static_cast<Request>(agree(static_cast<Word64>(mine)));
      const bool decided = state.stage != protocol::Stage::open || state.copied;
      if (request == Request::leave && decided) crew.stay();
      if (request == Request::leave && (decided || crew.stays())) request = Request::go_on;
    }
    ended = step() == Progress::ended;
  }
  if (threadIdx.x == 0) timer.ended();
  return ended ? PollEnd::found : request == Request::end ? PollEnd::ended : PollEnd::left;
}

}  // namespace penstock::peer_gpu
