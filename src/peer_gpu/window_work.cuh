// SPDX-License-Identifier: Apache-2.0
// What blocks do for the ends of a window's pairs. No block waits for another one of its kernel.
#pragma once

#include "peer_gpu/block_poll.cuh"
#include "peer_gpu/open_gate.cuh"
#include "peer_gpu/thread_poll.cuh"
#include "peer_gpu/window_port.cuh"

namespace penstock::peer_gpu {

using gpu::let_successor_in;

namespace window = protocol::window;

// What a block of an origin finds when it begins, asked for at once.
struct WindowBeginning {
  Word64 failed, given_up;  // as in Context
  Word64 done;              // of this block's part
  Word64 closed, cts, fin;
};

__device__ inline WindowBeginning look_at_window(const Reports& reports, const Pair& pair,
                                                 const BlockIndex& place) {
  constexpr unsigned count = 6;
  __shared__ Word64 seen[count];
  __syncthreads();  // a block that serves several duties has read the last one's
  if (const unsigned i = threadIdx.x; i < count) {
    Word64* const word = i == 0   ? &reports.queue_failure.failed
                         : i == 1 ? &pair.words->given_up
                         : i == 2 ? &pair.words[place.index].done
                         : i == 3 ? &pair.sender->closed
                         : i == 4 ? &pair.sender->cts
                                  : &pair.sender->fin[0];
    seen[i] = SystemWord(*word).load(::cuda::memory_order_acquire);
  }
  __syncthreads();
  return {seen[0], seen[1], seen[2], seen[3], seen[4], seen[5]};
}

// From here on the origin may use the target's memory. The epoch is the word of its starts, since
// the wait of the same epoch may stand in this kernel, too, and end before.
struct PostWindow {
  static __device__ void run(const Reports& reports, const Pair& pair) {
    let_successor_in();
    bool goes = true, twice = false;
    Word64 epoch = 0;
    if (threadIdx.x == 0) {
      const Word64 last = last_started(*pair.words);
      epoch = last + 1;
      twice = last > DeviceWord(pair.words->done).load(::cuda::memory_order_relaxed);
      goes = reports.queue_failure.failed == 0 && pair.words->given_up == 0 && !twice;
      if (goes) {
        pair.words->started = started(epoch, Left::nothing);
        // Release: this end's earlier use of its window comes before the origin's.
        SystemWord(pair.sender->cts).store(epoch, ::cuda::memory_order_release);
        open_peers_gate(pair, epoch);
      }
    }
    if (__syncthreads_or(!goes) != 0)
      fail<Path::window>(reports, pair, epoch, twice ? Failure::started_twice : Failure::released);
  }
};

// The first block announces the epoch, and each moves its part. A pair that an earlier kernel has
// given up is not told of again.
struct CompleteWindow {
  template <Form form>
  static __device__ void run(const Reports& reports, const WindowItem& item,
                             const transport::Operation* list, const BlockIndex& place,
                             Crew<form>& crew) {
    const WindowBeginning seen = look_at_window(reports, item, place);
    const Context context{reports, seen.failed, seen.given_up};
    const Word64 epoch = seen.done + 1;
    window::OriginState state;
    state.done = seen.done;
    state.announced = !place.leads() || !item.ends;
    OriginPort port(item, list, place);
    port.know(seen.cts, seen.fin, seen.closed);
    bool lost = false;
    const PollEnd polled = poll(context, item, epoch, crew, state, [&] {
      const Progress progress = window::complete(port, state);
      lost = state.copied && progress != Progress::ended;
      return lost ? Progress::ended : progress;
    });
    if (polled == PollEnd::left) return crew.leave(true);
    if (!crew.stays()) let_successor_in();
    end(context, item, place, epoch,
        lost                       ? Failure::peer_closed
        : polled == PollEnd::ended ? Failure::released
                                   : Failure::none);
  }

 private:
  static __device__ void end(const Context& context, const WindowItem& item,
                             const BlockIndex& place, Word64 epoch, Failure why) {
    Team team(item, place, Phase::wait, epoch);
    team.be_through();
    const bool given_up = context.given_up != 0 && !team::is_to_be_told(context.given_up);
    end_of_copy<Path::window>(context, item, team, epoch, given_up ? Failure::none : why);
    if (given_up && threadIdx.x == 0 && fails_first(context))
      report(context, item.id, Failure::given_up);
    if (!item.ends) return;
    advance(item, place, epoch);
    if (place.leads() && threadIdx.x == 0) open_peers_gate(item, epoch);
  }
};

struct WaitWindow {
  template <Form form>
  static __device__ void run(const Reports& reports, const Pair& pair, const BlockIndex& place,
                             Crew<form>& crew) {
    const Context context{reports, reports.queue_failure.failed, pair.words->given_up};
    window::TargetState state;
    state.done = pair.words->done;
    const Word64 epoch = state.done + 1;
    TargetPort port(pair);
    PollEnd polled = PollEnd::ended;
    if (context.given_up == 0)
      polled = poll_alone<form, TargetPort>(context, pair, epoch, crew,
                                            [&] { return window::wait(port, state); });
    if (form == Form::all_stay) let_successor_in();
    if (__syncthreads_or(polled != PollEnd::found) != 0) {
      if (form == Form::one_stays && __syncthreads_or(polled == PollEnd::ended) == 0)
        return crew.leave(true);
      fail<Path::window>(context, pair, epoch, Failure::released);
    }
    advance(pair, place, epoch);
  }
};

template <Form form>
__device__ void serve_window(const Reports& reports, const WindowItem& item,
                             const transport::Operation* operations, const BlockIndex& place,
                             Crew<form>& crew) {
  switch (item.call) {
    case WindowCall::post:
      return PostWindow::run(reports, item);
    case WindowCall::complete:
      return CompleteWindow::run<form>(reports, item, operations + item.first, place, crew);
    case WindowCall::wait:
      return WaitWindow::run<form>(reports, item, place, crew);
  }
}

}  // namespace penstock::peer_gpu
