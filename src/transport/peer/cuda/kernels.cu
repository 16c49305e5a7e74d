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
using protocol::Side;
using protocol::StartOutcome;

// Where the kernels of a queue report.
struct Reports {
  Report& report;
  Sticky& sticky;
};

// What a kernel knows about its queue and pair when it begins.
struct Context : Reports {
  bool failed;    // the queue: its starts send nothing on, its waits look once more and end
  bool given_up;  // the pair: it is not touched any more, since the peer's words may serve another pair by now
};

__device__ SendState load_send(const Half& half) {
  SendState state;
  state.done = half.done;
  state.posted = has_started(half, half.done + 1);
  return state;
}

__device__ ReceiveState load_receive(const Half& half) {
  ReceiveState state;
  state.done = half.done;
  return state;
}

// ---- Failures ------------------------------------------------------------------------------------------------------

// As a host's plan gives up: no wait of the peer begins to copy the epoch from now on, and a copy that it has begun
// does not count. One fence at the end, before the user may use the buffers again.
template <bool native, Side side>
__device__ void give_up_rendezvous(const Pair& pair, Word64 epoch) {
  Team team(pair, Place{}, Phase::wait, epoch);
  BlockPort<native> port(pair, team);
  if (pair.mode == Mode::ready)
    rendezvous::give_up<Mode::ready, side>(port, epoch);
  else
    rendezvous::give_up<Mode::standard, side>(port, epoch);
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
    first = DeviceWord(reports.sticky.failed).exchange(1, ::cuda::memory_order_relaxed) == 0;
    if (before == 0) given_up.store(epoch, ::cuda::memory_order_release);
  }
  before = agree(before);
  if (before == 0) {
    tell_peer<route>(pair, epoch);
    // Release: when the host says CLOSED, the peer may use the memory for another pair.
    if (threadIdx.x == 0) SystemWord(pair.fate->given_up).store(epoch, ::cuda::memory_order_release);
  }
  if (!first) return;
  if (before != 0) why = Failure::given_up;
  SystemWord(reports.report.failed)
      .store(static_cast<Word64>(why) << 32 | (pair.id + 1u), ::cuda::memory_order_release);
}

// ---- Ring ----------------------------------------------------------------------------------------------------------

// One thread's. Looks until the protocol says that the wait has ended. False: it was ended from outside, and a last
// look was in vain, too; what it is for may have come just before the peer went.
template <class Step>
__device__ bool poll_alone(const Context& context, const Pair& pair, Word64 epoch, Step step) {
  Patience patience(context.report, pair.id, epoch);
  bool over = context.failed;
  bool ended = step() == Progress::ended;
  while (!ended && !over) {
    over = patience.over();
    ended = step() == Progress::ended;
  }
  patience.ended();
  return ended;
}

// The wait of a small standard send has no kernel of its own: the message has left with the start, and what remains,
// that the next slot be free, is seen to by the next start of the pair, which stands behind that wait in every order.
// All that is read first is read at once: each look at memory costs as much as the message's way.
template <Mode mode, int group>
__device__ bool start_part(const Context& context, const Pair& pair, unsigned part, bool last) {
  constexpr bool has_wait = mode == Mode::synchronous;
  Half& half = pair.half[part];
  RingPort<group> port(pair, part);
  port.fetch();
  SendState state = load_send(half);
  port.look_at_fin();
  const bool twice = has_wait && state.posted;
  const Word64 epoch = state.done + 1 + (!has_wait && state.posted ? 1 : 0);
  bool goes = !context.failed && !context.given_up && !twice;
  if (goes && state.posted)
    goes = poll_alone(context, pair, state.done + 1, [&] { return ring::wait_send<mode>(port, state); });
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
  const Word64 epoch = state.done + 1;
  bool ended = false;
  if (!context.given_up) {
    // FIN of the epoch before. At the end of this kernel, FIN of this epoch would hold up the stream until the peer's
    // memory has answered; here that time passes while the message is awaited. So FIN lags by one epoch: see
    // ring_slots. Relaxed: the loads that it speaks of were an earlier kernel's.
    if (threadIdx.x == 0) SystemWord(pair.sender->fin[part]).store(state.done, ::cuda::memory_order_relaxed);
    ended = poll_alone(context, pair, epoch, [&] { return ring::wait_receive(port, state); });
  }
  if (last) let_successor_in();
  if (__syncthreads_or(!ended) != 0) {
    fail<Route::ring>(context, pair, epoch, Failure::released);
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
  const Word64 epoch = state.done + 1;
  const bool ended = !context.given_up &&
                     poll_alone(context, pair, epoch, [&] { return ring::wait_send<Mode::synchronous>(port, state); });
  let_successor_in();
  if (__syncthreads_or(!ended) != 0) return fail<Route::ring>(context, pair, epoch, Failure::released);
  for (unsigned part = threadIdx.x; part < pair.parts; part += blockDim.x) pair.half[part].done = epoch;
}

// ---- Rendezvous ----------------------------------------------------------------------------------------------------

__device__ Failure failure_of(StartOutcome outcome) {
  if (outcome == StartOutcome::started) return Failure::none;
  return outcome == StartOutcome::peer_closed ? Failure::peer_closed : Failure::not_ready;
}

template <Mode mode, bool native>
__device__ void start_rendezvous_send(const Context& context, const Pair& pair, const Place& place) {
  SendState state = load_send(*pair.half);
  const Word64 epoch = state.done + 1;
  let_successor_in();  // a start waits for nobody
  Team team(pair, place, Phase::start, epoch);
  if (!place.leads()) {
    // A graph that is launched again without a wait finds the first block's old command.
    Half& own = pair.half[place.index];
    if (has_started(own, epoch)) return;
    team.help(nullptr);  // the wait asks whether the copy holds
    if (threadIdx.x == 0) own.started = started(epoch, Left::nothing);
    return;
  }
  Failure why = state.posted ? Failure::started_twice : Failure::released;
  if (!context.failed && !context.given_up && !state.posted) {
    BlockPort<native> port(pair, team);
    port.look_ahead();
    why = failure_of(rendezvous::start_send<mode>(port, state));
  }
  team.dismiss();
  if (why != Failure::none) return fail<Route::rendezvous>(context, pair, epoch, why);
  if (threadIdx.x == 0) pair.half->started = started(epoch, state.posted ? Left::message : Left::copy);
}

// A later kernel may have more blocks than this one, so each block speaks for those that it stands for. After a failure
// too: the blocks of a kernel must agree on its epoch.
__device__ void advance(const Pair& pair, const Place& place, Word64 epoch) {
  if (threadIdx.x != 0) return;
  for (unsigned part = place.index; part < pair.parts; part += place.blocks) pair.half[part].done = epoch;
}

// The same as poll_alone, by a block.
template <class Step>
__device__ bool poll(const Context& context, const Pair& pair, Word64 epoch, Step step) {
  Patience patience(context.report, pair.id, epoch);
  bool over = context.failed;
  bool ended = step() == Progress::ended;
  for (unsigned looks = 1; !ended && !over; ++looks) {
    // Only thread 0's clock counts, so that the block stays together.
    over = looks % Patience::looks_between == 0 && agree(threadIdx.x == 0 && patience.late()) != 0;
    ended = step() == Progress::ended;
  }
  if (threadIdx.x == 0) patience.ended();
  return ended;
}

// Each block that has copied asks whether its part holds: the first one by the state machine, which otherwise ends the
// wait in the same step, the others here.
template <Side side, bool native>
__device__ void vouch(const Context& context, const Pair& pair, Team& team, Word64 epoch) {
  BlockPort<native> port(pair, team);
  if (!protocol::closing::copy_holds<side>(port, epoch))
    fail<Route::rendezvous>(context, pair, epoch, Failure::peer_closed);
}

template <Mode mode, bool native>
__device__ void wait_rendezvous_send(const Context& context, const Pair& pair, const Place& place) {
  SendState state;
  state.done = pair.half[place.index].done;
  const Word64 epoch = state.done + 1;
  state.posted = has_left(*pair.half, epoch, Left::message);
  state.copied = has_left(*pair.half, epoch, Left::copy);
  Team team(pair, place, Phase::wait, epoch);
  if (place.leads()) {
    BlockPort<native> port(pair, team);
    bool lost = false;
    const bool ended = !context.given_up && poll(context, pair, epoch, [&] {
      const Progress progress = rendezvous::wait_send<mode>(port, state);
      lost = state.copied && progress != Progress::ended;
      return lost ? Progress::ended : progress;
    });
    team.dismiss();
    if (lost || !ended) fail<Route::rendezvous>(context, pair, epoch, lost ? Failure::peer_closed : Failure::released);
  } else if (state.posted && team.help(pair.sender->fin)) {
    vouch<Side::sender, native>(context, pair, team, epoch);
  }
  let_successor_in();
  advance(pair, place, epoch);
}

template <Mode mode, bool native>
__device__ void wait_rendezvous_receive(const Context& context, const Pair& pair, const Place& place) {
  ReceiveState state = load_receive(pair.half[place.index]);
  const Word64 epoch = state.done + 1;
  Team team(pair, place, Phase::wait, epoch);
  if (place.leads()) {
    BlockPort<native> port(pair, team);
    bool lost = false;
    const bool ended = !context.given_up && poll(context, pair, epoch, [&] {
      const Progress progress = rendezvous::wait_receive<mode>(port, state);
      lost = state.copied && progress != Progress::ended;
      return lost || state.promise_broken ? Progress::ended : progress;
    });
    team.dismiss();
    if (lost || !ended || state.promise_broken)
      fail<Route::rendezvous>(context, pair, epoch,
                              lost     ? Failure::peer_closed
                              : !ended ? Failure::released
                                       : Failure::promise_broken);
  } else if (team.help(pair.receiver->done)) {
    vouch<Side::receiver, native>(context, pair, team, epoch);
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

// Kernels for rings alone have less code to load and need fewer registers.
enum class Kit { ring, any };

// Says that the receive is started. Release: this end's earlier use of its buffer comes before the peer's push into it.
template <Kit kit>
__device__ void start_receive(const Context& context, const Pair& pair) {
  let_successor_in();
  bool goes = true;
  bool twice = false;
  Word64 epoch = 0;
  if (threadIdx.x == 0) {
    epoch = pair.half->done + 1;
    twice = has_started(*pair.half, epoch);
    goes = !context.failed && !context.given_up && !twice;
    if (goes) {
      pair.half->started = started(epoch, Left::nothing);
      SystemWord(pair.sender->cts).store(epoch, ::cuda::memory_order_release);
    }
  }
  if (__syncthreads_or(!goes) == 0) return;
  const Failure why = twice ? Failure::started_twice : Failure::released;
  if (kit == Kit::any && pair.route == Route::rendezvous)
    fail<Route::rendezvous>(context, pair, epoch, why);
  else
    fail<Route::ring>(context, pair, epoch, why);
}

// More cells at once for messages of which each thread has several.
__device__ bool is_wide(const Pair& pair) {
  return pair.share > blockDim.x;
}

template <Kit kit>
__device__ void start(const Context& context, const Pair& pair, const Place& place) {
  if (!pair.sends) return start_receive<kit>(context, pair);
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

// A block of a rendezvous acts as one processor, so thread 0's look is that of all. In a ring each thread has its own,
// and no barrier stands before the message.
template <Kit kit, int capacity>
__device__ Context look(const Batch<capacity>& batch, const Pair& pair) {
  bool failed = batch.sticky->failed != 0;
  bool given_up = pair.half->given_up != 0;
  if constexpr (kit == Kit::any) {
    const Word64 seen = agree((failed ? 1u : 0u) | (given_up ? 2u : 0u));
    failed = (seen & 1u) != 0;
    given_up = (seen & 2u) != 0;
  }
  return {{*batch.report, *batch.sticky}, failed, given_up};
}

template <bool starts, Kit kit, int capacity>
__global__ void __launch_bounds__(most_threads, kit == Kit::ring ? 2 : 1)
    run(const __grid_constant__ Batch<capacity> batch) {
  await_predecessor();
  if (batch.count == 0) return;
  Place place;
  const Pair& pair = find(batch, place);
  const Context context = look<kit>(batch, pair);
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
