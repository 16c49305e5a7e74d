// SPDX-License-Identifier: Apache-2.0
#include "transport/peer/cuda/kernels.hpp"

#include <algorithm>

#include "device/cuda/launch.hpp"
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
  bool failed;  // before this kernel: then it does nothing
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

// Told by one thread of a block whose wait was ended from outside.
__device__ void tell_released(const Context& context, const Pair& pair) {
  if (threadIdx.x == 0) fail(context.report, context.sticky, pair, Failure::released);
}

// ---- Ring ----------------------------------------------------------------------------------------------------------

// The wait of a small standard send has no kernel of its own: the message has left with the start, and what remains,
// that the next slot be free, is seen to by the next start of the pair, which stands behind that wait in every order.
// All that is read first is read at once: each look at memory costs as much as the message's way.
template <Mode mode, int group>
__device__ bool start_part(const Context& context, const Pair& pair, unsigned part, bool last) {
  Half& half = pair.half[part];
  RingPort<group> port(pair, part);
  port.fetch();
  SendState state = load_send(half);
  port.look_at_fin();
  if (context.failed) return false;
  bool aborted = false;
  if (mode != Mode::synchronous && state.posted) {
    Patience patience(context.report, pair.id, state.done + 1);
    while (!aborted && ring::wait_send<mode>(port, state) != Progress::ended) aborted = patience.over();
    patience.ended();
  }
  if (last) let_successor_in();
  StartOutcome outcome = StartOutcome::started;
  if (!aborted) outcome = ring::start_send<mode>(port, state);
  if (__syncthreads_or(aborted || outcome != StartOutcome::started) != 0) {
    if (threadIdx.x == 0) fail(context.report, context.sticky, pair, aborted ? Failure::released : Failure::not_ready);
    return false;
  }
  if (threadIdx.x == 0) {
    half.done = state.done;
    half.posted = true;
  }
  return true;
}

template <Mode mode, int group>
__device__ void start_ring_send(const Context& context, const Pair& pair, const Place& place) {
  for (unsigned part = place.index; part < pair.parts; part += place.blocks)
    if (!start_part<mode, group>(context, pair, part, part + place.blocks >= pair.parts)) return;
}

template <int group>
__device__ bool receive_part(const Context& context, const Pair& pair, unsigned part, bool last) {
  Half& half = pair.half[part];
  RingPort<group> port(pair, part);
  ReceiveState state = load_receive(half);
  if (context.failed) return false;
  // FIN of the epoch before. At the end of this kernel, FIN of this epoch would hold up the stream until the peer's
  // memory has answered; here that time passes while the message is awaited. So FIN lags by one epoch: see ring_slots.
  // Relaxed: the loads that it speaks of were an earlier kernel's.
  if (threadIdx.x == 0) SystemWord(pair.sender->fin[part]).store(state.done, ::cuda::memory_order_relaxed);
  Patience patience(context.report, pair.id, state.done + 1);
  bool aborted = false;
  while (!aborted && ring::wait_receive(port, state) != Progress::ended) aborted = patience.over();
  patience.ended();
  if (last) let_successor_in();
  if (__syncthreads_or(aborted) != 0) {
    tell_released(context, pair);
    return false;
  }
  if (threadIdx.x == 0) half.done = state.done;
  return true;
}

template <int group>
__device__ void wait_ring_receive(const Context& context, const Pair& pair, const Place& place) {
  for (unsigned part = place.index; part < pair.parts; part += place.blocks)
    if (!receive_part<group>(context, pair, part, part + place.blocks >= pair.parts)) return;
}

// A synchronous send ends when its receive has been started. One block sees to it for all.
__device__ void wait_ring_send(const Context& context, const Pair& pair) {
  RingPort<1> port(pair, 0);
  SendState state = load_send(*pair.half);
  if (context.failed) return;
  Patience patience(context.report, pair.id, state.done + 1);
  bool aborted = false;
  while (!aborted && ring::wait_send<Mode::synchronous>(port, state) != Progress::ended) aborted = patience.over();
  patience.ended();
  let_successor_in();
  if (__syncthreads_or(aborted) != 0) return tell_released(context, pair);
  for (unsigned part = threadIdx.x; part < pair.parts; part += blockDim.x) pair.half[part].done = state.done;
}

// ---- Rendezvous ----------------------------------------------------------------------------------------------------

template <Mode mode, bool native>
__device__ void start_rendezvous_send(const Context& context, const Pair& pair, const Place& place) {
  SendState state = load_send(*pair.half);
  if (context.failed) return;
  let_successor_in();  // a start waits for nobody
  Team team(pair, place, Phase::start, state.done + 1);
  if (!place.leads()) return team.help(nullptr);
  BlockPort<native> port(pair, team);
  const StartOutcome outcome = rendezvous::start_send<mode>(port, state);
  team.dismiss();
  if (threadIdx.x != 0) return;
  pair.half->posted = state.posted;
  if (outcome != StartOutcome::started) fail(context.report, context.sticky, pair, Failure::not_ready);
}

// A later kernel may have more blocks than this one, so each block speaks for those that it stands for.
__device__ void advance(const Pair& pair, const Place& place, Word64 epoch) {
  if (threadIdx.x != 0) return;
  for (unsigned part = place.index; part < pair.parts; part += place.blocks) pair.half[part].done = epoch;
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
  Half& half = pair.half[place.index];
  SendState state = load_send(half);
  state.posted = pair.half->posted != 0;
  if (context.failed) return;
  const Word64 epoch = state.done + 1;
  Team team(pair, place, Phase::wait, epoch);
  if (place.leads()) {
    BlockPort<native> port(pair, team);
    if (!poll(context, pair, epoch, [&] { return rendezvous::wait_send<mode>(port, state); }))
      tell_released(context, pair);
    team.dismiss();
  } else if (state.posted) {
    team.help(pair.sender->fin);
  }
  let_successor_in();
  advance(pair, place, epoch);
}

template <Mode mode, bool native>
__device__ void wait_rendezvous_receive(const Context& context, const Pair& pair, const Place& place) {
  Half& half = pair.half[place.index];
  ReceiveState state = load_receive(half);
  if (context.failed) return;
  const Word64 epoch = state.done + 1;
  Team team(pair, place, Phase::wait, epoch);
  if (place.leads()) {
    BlockPort<native> port(pair, team);
    const bool ended = poll(context, pair, epoch, [&] {
      const Progress progress = rendezvous::wait_receive<mode>(port, state);
      return state.promise_broken ? Progress::ended : progress;
    });
    team.dismiss();
    if (!ended) {
      protocol::forbid_claim<protocol::Side::receiver>(port, epoch);
      tell_released(context, pair);
    } else if (state.promise_broken && threadIdx.x == 0) {
      fail(context.report, context.sticky, pair, Failure::promise_broken);
    }
  } else {
    team.help(pair.receiver->done);
  }
  let_successor_in();
  advance(pair, place, epoch);
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
__device__ void start_receive(const Context& context, const Pair& pair) {
  let_successor_in();
  if (threadIdx.x == 0 && !context.failed)
    SystemWord(pair.sender->cts).store(pair.half->done + 1, ::cuda::memory_order_release);
}

// More cells at once for messages of which each thread has several.
__device__ bool is_wide(const Pair& pair) {
  return pair.share > blockDim.x;
}

// Kernels for rings alone have less code to load and need fewer registers.
enum class Kit { ring, any };

template <Kit kit>
__device__ void start(const Context& context, const Pair& pair, const Place& place) {
  if (!pair.sends) return start_receive(context, pair);
  if (kit == Kit::any && pair.route == Route::rendezvous)
    return pair.native_atomics ? start_rendezvous_send<true>(context, pair, place)
                               : start_rendezvous_send<false>(context, pair, place);
  if (is_wide(pair)) return start_ring_send<4>(context, pair, place);
  start_ring_send<1>(context, pair, place);
}

template <Kit kit>
__device__ void wait(const Context& context, const Pair& pair, const Place& place) {
  if (kit == Kit::any && pair.route == Route::rendezvous)
    return pair.native_atomics ? wait_rendezvous<true>(context, pair, place)
                               : wait_rendezvous<false>(context, pair, place);
  if (pair.sends) return wait_ring_send(context, pair);
  if (is_wide(pair)) return wait_ring_receive<4>(context, pair, place);
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

template <bool starts, Kit kit, int capacity>
__global__ void __launch_bounds__(most_threads, kit == Kit::ring ? 2 : 1)
    run(const __grid_constant__ Batch<capacity> batch) {
  await_predecessor();
  if (batch.count == 0) return;
  Place place;
  const Pair& pair = find(batch, place);
  const Context context{*batch.report, *batch.sticky, batch.sticky->failed != 0};
  if constexpr (starts)
    start<kit>(context, pair, place);
  else
    wait<kit>(context, pair, place);
}

// The blocks of one kernel together. Those that wait keep their places while they do, and so may those of starts, whose
// senders can be ahead of their slots: a device full of them would have no room for the start that they wait for.
template <bool starts, Kit kit>
constexpr unsigned most_blocks_together = starts             ? 128
                                          : kit == Kit::ring ? 64
                                                             : 16;

template <int capacity>
unsigned share_out(Batch<capacity>& batch, unsigned most) {
  unsigned wanted = 0;
  for (int i = 0; i < batch.count; ++i) wanted += batch.pair[i].blocks;
  unsigned given = 0;
  for (int i = 0; i < batch.count; ++i) {
    std::uint16_t& blocks = batch.pair[i].blocks;
    if (wanted > most) blocks = static_cast<std::uint16_t>(std::max(blocks * most / wanted, 1u));
    given += blocks;
  }
  return std::max(given, 1u);
}

template <bool starts, Kit kit, int capacity>
cudaError_t launch_as(const Launch& launch, std::span<const Pair> pairs) {
  Batch<capacity> batch;
  batch.report = launch.report;
  batch.sticky = launch.sticky;
  batch.count = static_cast<int>(pairs.size());
  std::copy(pairs.begin(), pairs.end(), batch.pair);
  unsigned threads = 32;
  for (const Pair& pair : pairs) threads = std::max<unsigned>(threads, pair.threads);
  const unsigned blocks = share_out(batch, most_blocks_together<starts, kit>);
  static const device::cuda::Kernel kernel(reinterpret_cast<const void*>(&run<starts, kit, capacity>));
  return kernel.launch({blocks, threads, launch.stream, launch.dependent}, &batch);
}

// A launch costs the more the more arguments it carries.
template <bool starts, Kit kit>
cudaError_t launch_with(const Launch& launch, std::span<const Pair> pairs) {
  if (pairs.size() <= 1) return launch_as<starts, kit, 1>(launch, pairs);
  if (pairs.size() <= 4) return launch_as<starts, kit, 4>(launch, pairs);
  return launch_as<starts, kit, largest_batch>(launch, pairs);
}

template <bool starts>
cudaError_t launch_batch(const Launch& launch, std::span<const Pair> pairs) {
  const bool rings =
      std::all_of(pairs.begin(), pairs.end(), [](const Pair& pair) { return pair.route == Route::ring; });
  return rings ? launch_with<starts, Kit::ring>(launch, pairs) : launch_with<starts, Kit::any>(launch, pairs);
}

template <bool starts, Kit kit>
cudaError_t load(const Launch& launch) {
  for (const auto call :
       {&launch_as<starts, kit, 1>, &launch_as<starts, kit, 4>, &launch_as<starts, kit, largest_batch>})
    if (const cudaError_t code = call(launch, {}); code != cudaSuccess) return code;
  return cudaSuccess;
}

}  // namespace

cudaError_t launch_starts(const Launch& launch, std::span<const Pair> pairs) {
  return launch_batch<true>(launch, pairs);
}

cudaError_t launch_waits(const Launch& launch, std::span<const Pair> pairs) {
  return launch_batch<false>(launch, pairs);
}

cudaError_t load_kernels(const Launch& launch) {
  for (const auto load_some :
       {&load<true, Kit::ring>, &load<false, Kit::ring>, &load<true, Kit::any>, &load<false, Kit::any>})
    if (const cudaError_t code = load_some(launch); code != cudaSuccess) return code;
  return cudaStreamSynchronize(launch.stream);
}

}  // namespace penstock::transport::peer::cuda
