// SPDX-License-Identifier: Apache-2.0
#include "transport/peer/cuda/kernels.hpp"

#include <algorithm>

#include "protocol/rendezvous.hpp"
#include "protocol/ring.hpp"
#include "transport/peer/cuda/block_port.cuh"
#include "transport/peer/cuda/patience.cuh"
#include "transport/peer/cuda/ring_port.cuh"

namespace penstock::transport::peer::cuda {
namespace {

namespace ring = protocol::ring;
namespace rendezvous = protocol::rendezvous;
using protocol::Mode;
using protocol::Progress;
using protocol::ReceiveState;
using protocol::SendState;
using protocol::StartOutcome;

// What a kernel knows about its queue.
struct Context {
  Report& report;
  Sticky& sticky;
};

__device__ SendState load_send(const Half& half) {
  SendState state;
  state.done = half.done;
  state.posted = half.posted != 0;
  return state;
}

__device__ ReceiveState load_receive(const Half& half) {
  ReceiveState state;
  state.done = half.done;
  return state;
}

__device__ void save(Half& half, const SendState& state) {
  half.done = state.done;
  half.posted = state.posted;
}

// ---- Ring ----------------------------------------------------------------------------------------------------------

// The wait of a small standard send has no kernel of its own: the message has left with the start, and what remains,
// that the next slot be free, is seen to by the next start of the pair, which stands behind that wait in every order.
template <Mode mode, int group>
__device__ void start_ring_send(const Context& context, const Pair& pair, const Place& place) {
  RingPort<group> port(pair, place);
  port.fetch();
  SendState state = load_send(*pair.half);
  bool aborted = false;
  if (mode != Mode::synchronous && state.posted) {
    Patience patience(context.report, pair.id, state.done + 1);
    while (!aborted && ring::wait_send<mode>(port, state) != Progress::ended) aborted = patience.over();
    patience.ended();
  }
  let_successor_in();
  StartOutcome outcome = StartOutcome::started;
  if (!aborted) outcome = ring::start_send<mode>(port, state);
  const bool failed = __syncthreads_or(aborted || outcome != StartOutcome::started) != 0;
  if (failed) {
    if (threadIdx.x == 0) fail(context.report, context.sticky, pair, aborted ? Failure::released : Failure::not_ready);
    return;
  }
  if (!last_to_leave(*pair.half, place)) return;
  state.posted = true;
  save(*pair.half, state);
}

template <int group>
__device__ void wait_ring_receive(const Context& context, const Pair& pair, const Place& place) {
  RingPort<group> port(pair, place);
  ReceiveState state = load_receive(*pair.half);
  Patience patience(context.report, pair.id, state.done + 1);
  bool aborted = false;
  while (!aborted && ring::wait_receive(port, state) != Progress::ended) aborted = patience.over();
  patience.ended();
  let_successor_in();
  if (__syncthreads_or(aborted) != 0) {
    if (threadIdx.x == 0) fail(context.report, context.sticky, pair, Failure::released);
    return;
  }
  if (!last_to_leave(*pair.half, place)) return;
  // Every cell has been loaded by now. Release: those loads come before the sender's next stores into the slot.
  SystemWord(pair.sender->fin).store(state.done, ::cuda::memory_order_release);
  pair.half->done = state.done;
}

// A synchronous send ends when its receive has been started.
__device__ void wait_ring_send(const Context& context, const Pair& pair, const Place& place) {
  RingPort<1> port(pair, place);
  SendState state = load_send(*pair.half);
  if (threadIdx.x != 0) return;
  Patience patience(context.report, pair.id, state.done + 1);
  while (ring::wait_send<Mode::synchronous>(port, state) != Progress::ended) {
    if (!patience.over()) continue;
    fail(context.report, context.sticky, pair, Failure::released);
    return;
  }
  patience.ended();
  save(*pair.half, state);
}

// ---- Rendezvous ----------------------------------------------------------------------------------------------------

template <Mode mode, bool native>
__device__ void start_rendezvous_send(const Context& context, const Pair& pair, const Place& place) {
  SendState state = load_send(*pair.half);
  Team team(pair, place, Phase::start, state.done + 1);
  let_successor_in();  // a start waits for nobody
  StartOutcome outcome = StartOutcome::started;
  if (place.leads()) {
    BlockPort<native> port(pair, team);
    outcome = rendezvous::start_send<mode>(port, state);
    team.dismiss();
    if (threadIdx.x == 0 && outcome != StartOutcome::started)
      fail(context.report, context.sticky, pair, Failure::not_ready);
    if (threadIdx.x == 0) pair.half->posted = state.posted;
  } else {
    team.help();
  }
  last_to_leave(*pair.half, place);
}

// Waits until the protocol says so. False: the wait was ended from outside.
template <class Step>
__device__ bool poll(const Context& context, const Pair& pair, Word64 epoch, Step step) {
  Patience patience(context.report, pair.id, epoch);
  for (unsigned looks = 1; step() != Progress::ended; ++looks) {
    // Only thread 0's clock counts, so that the block stays together.
    if (looks % Patience::looks_between == 0 && agree(threadIdx.x == 0 && patience.late()) != 0) return false;
  }
  if (threadIdx.x == 0) patience.ended();
  return true;
}

template <Mode mode, bool native>
__device__ void wait_rendezvous_send(const Context& context, const Pair& pair, const Place& place) {
  SendState state = load_send(*pair.half);
  Team team(pair, place, Phase::wait, state.done + 1);
  if (place.leads()) {
    BlockPort<native> port(pair, team);
    const bool ended = poll(context, pair, state.done + 1, [&] { return rendezvous::wait_send<mode>(port, state); });
    team.dismiss();
    if (threadIdx.x == 0 && !ended) fail(context.report, context.sticky, pair, Failure::released);
  } else {
    team.help();
    ++state.done;  // what the leader's state says at the end, if it ends well
    state.posted = false;
  }
  if (last_to_leave(*pair.half, place) && context.sticky.failed == 0) save(*pair.half, state);
}

template <Mode mode, bool native>
__device__ void wait_rendezvous_receive(const Context& context, const Pair& pair, const Place& place) {
  ReceiveState state = load_receive(*pair.half);
  Team team(pair, place, Phase::wait, state.done + 1);
  if (place.leads()) {
    BlockPort<native> port(pair, team);
    const bool ended = poll(context, pair, state.done + 1, [&] { return rendezvous::wait_receive<mode>(port, state); });
    team.dismiss();
    if (threadIdx.x == 0 && !ended) {
      // A peer that looks at the epoch from now on finds it claimed, and leaves our buffer alone.
      if constexpr (native) port.exchange_alone(Word::claim, state.done + 1);
      fail(context.report, context.sticky, pair, Failure::released);
    }
    if (threadIdx.x == 0 && ended && state.promise_broken)
      fail(context.report, context.sticky, pair, Failure::promise_broken);
  } else {
    team.help();
    ++state.done;
  }
  if (last_to_leave(*pair.half, place) && context.sticky.failed == 0) pair.half->done = state.done;
}

// ---- One pair ------------------------------------------------------------------------------------------------------

template <int group>
__device__ void start_ring_send(const Context& context, const Pair& pair, const Place& place) {
  switch (pair.mode) {
    case Mode::synchronous:
      return start_ring_send<Mode::synchronous, group>(context, pair, place);
    case Mode::ready:
      return start_ring_send<Mode::ready, group>(context, pair, place);
    default:
      return start_ring_send<Mode::standard, group>(context, pair, place);
  }
}

template <bool native>
__device__ void start_rendezvous_send(const Context& context, const Pair& pair, const Place& place) {
  if (pair.mode == Mode::ready)
    start_rendezvous_send<Mode::ready, native>(context, pair, place);
  else
    start_rendezvous_send<Mode::standard, native>(context, pair, place);
}

template <bool native>
__device__ void wait_rendezvous(const Context& context, const Pair& pair, const Place& place) {
  const bool ready = pair.mode == Mode::ready;
  if (pair.sends && ready) return wait_rendezvous_send<Mode::ready, native>(context, pair, place);
  if (pair.sends) return wait_rendezvous_send<Mode::standard, native>(context, pair, place);
  if (ready) return wait_rendezvous_receive<Mode::ready, native>(context, pair, place);
  wait_rendezvous_receive<Mode::standard, native>(context, pair, place);
}

// Says that the receive is started. Release: this end's earlier use of its buffer comes before the peer's push into it.
__device__ void start_receive(const Pair& pair) {
  if (threadIdx.x == 0) SystemWord(pair.sender->cts).store(pair.half->done + 1, ::cuda::memory_order_release);
}

// More cells at once for messages of which each thread has several.
__device__ bool is_wide(const Pair& pair, const Place& place) {
  return cells_for(pair.bytes) > place.blocks * blockDim.x;
}

__device__ void start(const Context& context, const Pair& pair, const Place& place) {
  if (!pair.sends) return start_receive(pair);
  if (pair.route == Route::rendezvous)
    return pair.native_atomics ? start_rendezvous_send<true>(context, pair, place)
                               : start_rendezvous_send<false>(context, pair, place);
  if (is_wide(pair, place)) return start_ring_send<4>(context, pair, place);
  start_ring_send<1>(context, pair, place);
}

__device__ void wait(const Context& context, const Pair& pair, const Place& place) {
  if (pair.route == Route::rendezvous)
    return pair.native_atomics ? wait_rendezvous<true>(context, pair, place)
                               : wait_rendezvous<false>(context, pair, place);
  if (pair.sends) return wait_ring_send(context, pair, place);
  if (is_wide(pair, place)) return wait_ring_receive<4>(context, pair, place);
  wait_ring_receive<1>(context, pair, place);
}

// ---- Kernels -------------------------------------------------------------------------------------------------------

// The first blocks of all pairs come first, so that each pair has its deciding block on the device as early as can be.
template <int capacity>
__device__ const Pair& find(const Batch<capacity>& batch, Place& place) {
  int which = static_cast<int>(blockIdx.x);
  if (which >= batch.count) {
    unsigned left = blockIdx.x - static_cast<unsigned>(batch.count);
    for (which = 0; left + 1 >= batch.pair[which].blocks; ++which) left -= batch.pair[which].blocks - 1u;
    place.index = left + 1;
  }
  place.blocks = batch.pair[which].blocks;
  return batch.pair[which];
}

template <bool starts, int capacity>
__global__ void __launch_bounds__(most_threads, 2) run(const __grid_constant__ Batch<capacity> batch) {
  await_predecessor();
  if (batch.count == 0) return;
  Place place;
  const Pair& pair = find(batch, place);
  if (batch.sticky->failed != 0) return;
  const Context context{*batch.report, *batch.sticky};
  if constexpr (starts)
    start(context, pair, place);
  else
    wait(context, pair, place);
}

template <bool starts, int capacity>
cudaError_t launch_as(const Launch& launch, std::span<const Pair> pairs) {
  Batch<capacity> batch;
  batch.report = launch.report;
  batch.sticky = launch.sticky;
  batch.count = static_cast<int>(pairs.size());
  unsigned blocks = 0;
  unsigned threads = 32;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    batch.pair[i] = pairs[i];
    blocks += pairs[i].blocks;
    threads = std::max<unsigned>(threads, pairs[i].threads);
  }
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(std::max(blocks, 1u));
  config.blockDim = dim3(threads);
  config.stream = launch.stream;
  config.attrs = &attribute;
  config.numAttrs = launch.dependent ? 1 : 0;
  return cudaLaunchKernelEx(&config, run<starts, capacity>, batch);
}

// A launch costs the more the more arguments it carries.
template <bool starts>
cudaError_t launch_batch(const Launch& launch, std::span<const Pair> pairs) {
  if (pairs.size() <= 1) return launch_as<starts, 1>(launch, pairs);
  if (pairs.size() <= 4) return launch_as<starts, 4>(launch, pairs);
  return launch_as<starts, largest_batch>(launch, pairs);
}

}  // namespace

cudaError_t launch_starts(const Launch& launch, std::span<const Pair> pairs) {
  return launch_batch<true>(launch, pairs);
}

cudaError_t launch_waits(const Launch& launch, std::span<const Pair> pairs) {
  return launch_batch<false>(launch, pairs);
}

cudaError_t load_kernels(const Launch& launch) {
  for (const auto call : {&launch_as<true, 1>, &launch_as<false, 1>, &launch_as<true, 4>, &launch_as<false, 4>,
                          &launch_as<true, largest_batch>, &launch_as<false, largest_batch>})
    if (const cudaError_t code = call(launch, {}); code != cudaSuccess) return code;
  return cudaStreamSynchronize(launch.stream);
}

}  // namespace penstock::transport::peer::cuda
