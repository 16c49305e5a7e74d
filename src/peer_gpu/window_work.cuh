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

// The end of a block that completes. A block that fails gives the pair up, untold, before it counts
// itself; who is through last finds that, and tells the peer and the host: whoever is told may use
// the buffers again (protocol/team.hpp). Of what an earlier kernel has given up nothing is told
// again.
__device__ inline void end_complete(const Context& context, const WindowItem& item,
                                    const BlockIndex& place, Word64 epoch, Failure why) {
  // A block by itself has no other one to wait for, and a count that is whole already.
  if (place.blocks == 1 && why == Failure::none && context.given_up == 0) return;
  DeviceWord given_up(item.words->given_up);
  bool tells = false;
  if (threadIdx.x == 0) {
    Word64 none = 0;
    if (why != Failure::none &&
        given_up.compare_exchange_strong(none, epoch | team::untold, ::cuda::memory_order_release,
                                         ::cuda::memory_order_relaxed))
      item.words->command = static_cast<Word64>(why);
    // Release: what this block has copied, and the reason, come before. Acquire: the other blocks'.
    ::cuda::atomic_thread_fence(::cuda::memory_order_acq_rel, ::cuda::thread_scope_device);
    const Word64 share = team::share_of_block(place.index, place.blocks);
    const Word64 through =
        DeviceWord(words_of(item).through).fetch_add(share, ::cuda::memory_order_acq_rel) + share;
    tells = team::all_are_through(through) && given_up.load(::cuda::memory_order_acquire) != 0;
  }
  if (__syncthreads_or(tells) == 0) return;
  const Word64 found = agree(threadIdx.x == 0 ? given_up.load(::cuda::memory_order_relaxed) : 0);
  const bool untold = team::is_to_be_told(found);
  if (untold) {
    if (threadIdx.x == 0) given_up.store(team::epoch_given_up(found), ::cuda::memory_order_release);
    tell<Path::window>(item, team::epoch_given_up(found));
  }
  if (threadIdx.x == 0 && fails_first(context))
    report(context, item.id,
           untold ? static_cast<Failure>(item.words->command) : Failure::given_up);
}

// Until the program's own kernels may store into the target's memory. The epoch stays as it is: the
// complete behind them ends it.
struct OpenWindow {
  template <Form form>
  static __device__ void run(const Reports& reports, const WindowItem& item,
                             const BlockIndex& place, Crew<form>& crew) {
    const WindowBeginning seen = look_at_window(reports, item, place);
    const Context context{reports, seen.failed, seen.given_up};
    const Word64 epoch = seen.done + 1;
    window::OriginState state;
    state.done = seen.done;
    OriginPort port(item, nullptr, place);
    port.know(seen.cts, seen.fin, seen.closed);
    PollEnd polled = PollEnd::ended;
    const bool broken = item.promise == window::Promise::checked && seen.cts < epoch;
    if (!broken)
      polled = poll(context, item, epoch, crew, state, [&] { return window::open(port, state); });
    if (polled == PollEnd::left) return crew.leave(true);
    if (!crew.stays()) let_successor_in();
    if (polled == PollEnd::ended)
      fail<Path::window>(context, item, epoch, broken ? Failure::not_ready : Failure::released);
  }
};

// The first block announces the epoch, and each moves its part. After a failure of the queue
// nothing is sent on, nor into the memory of a process that has ended.
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
    state.announced = !place.leads() || !item.ends_epoch;
    OriginPort port(item, list, place);
    port.know(seen.cts, seen.fin, seen.closed);
    bool lost = false;
    PollEnd polled = PollEnd::ended;
    const bool broken = item.promise == window::Promise::checked && seen.cts < epoch;
    const bool suppressed =
        broken || seen.failed != 0 ||
        (item.gated && agree(threadIdx.x == 0 && peer_is_dead(item) ? 1 : 0) != 0);
    if (!suppressed)
      polled = poll(context, item, epoch, crew, state, [&] {
        const Progress progress = window::complete(port, state);
        lost = state.copied && progress != Progress::ended;
        return lost ? Progress::ended : progress;
      });
    if (polled == PollEnd::left) return crew.leave(true);
    if (!crew.stays()) let_successor_in();
    end_complete(context, item, place, epoch,
                 lost                       ? Failure::peer_closed
                 : broken                   ? Failure::not_ready
                 : polled == PollEnd::ended ? Failure::released
                                            : Failure::none);
    if (!item.ends_epoch) return;
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
    const bool all_found = __syncthreads_and(polled == PollEnd::found) != 0;
    if (form == Form::all_stay) let_successor_in();
    if (!all_found) {
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
    case WindowCall::open:
      return OpenWindow::run<form>(reports, item, place, crew);
    case WindowCall::complete:
      return CompleteWindow::run<form>(reports, item, operations + item.first, place, crew);
    case WindowCall::wait:
      return WaitWindow::run<form>(reports, item, place, crew);
  }
}

}  // namespace penstock::peer_gpu
