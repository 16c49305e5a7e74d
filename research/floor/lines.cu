// SPDX-License-Identifier: Apache-2.0
// Small messages: lines, and the steps from the least code to what the library does.
#include <type_traits>

#include "device.cuh"

namespace penstock::bench::floor {
namespace {

enum Mode : std::uint32_t { standard, synchronous, ready };

template <Step step>
using Argument = std::conditional_t<(step >= Step::descriptor), Descriptor, Least>;

// Reads the clock every 16 polls, and the host's word every 100 us. `used`: otherwise nothing of
// this is compiled.
template <bool used>
class Patience {
 public:
  __device__ explicit Patience(Word64* abort) : abort_(abort) {}
  __device__ bool over() {
    if constexpr (used) {
      if (++polls_ % 16 != 0) return false;
      Word64 now;
      asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
      if (last_ == 0) last_ = now;
      if (now - last_ < 100'000) return false;
      last_ = now;
      return SystemWord(*abort_).load(::cuda::memory_order_relaxed) != 0;
    } else {
      return false;
    }
  }

 private:
  Word64* abort_;
  unsigned polls_ = 0;
  Word64 last_ = 0;
};

template <Step step>
__device__ auto patience_of(const Argument<step>& argument) {
  if constexpr (step >= Step::patience)
    return Patience<true>(argument.abort);
  else
    return Patience<false>(nullptr);
}

// Which cells are this thread's: block after block a share of them, thread beside thread.
struct Cells {
  std::uint32_t first;
  std::uint32_t end;
};
__device__ Cells own_cells(const Least& argument) {
  const std::uint32_t begin = blockIdx.x * argument.share;
  return {begin + threadIdx.x, min(argument.cells, begin + argument.share)};
}

// Before a block's private words are stored, all its threads have read them. True: go on.
template <Step step>
__device__ bool agree(bool aborted, const Argument<step>& argument) {
  if constexpr (step >= Step::vote) {
    if (__syncthreads_or(aborted) == 0) return true;
    if (threadIdx.x == 0) argument.own->failed = 1;
    return false;
  } else if constexpr (step >= Step::words) {
    __syncthreads();
  }
  return true;
}

template <Step step, Handover handover, Mode mode, int group>
__device__ void send(const Argument<step>& argument) {
  const auto [first, end] = own_cells(argument);
  [[maybe_unused]] Word64 failed = 0;
  if constexpr (step >= Step::sticky) failed = argument.own->failed;

  // Everything that is read first is read at once.
  Word64 data[group]{};
  const auto fetch = [&](std::uint32_t at) {
#pragma unroll
    for (int i = 0; i < group; ++i)
      if (at + i * blockDim.x < end)
        data[i] = reinterpret_cast<const Word64*>(argument.buffer)[at + i * blockDim.x];
  };
  fetch(first);
  Word64 epoch = argument.epoch;
  [[maybe_unused]] Half half{};
  [[maybe_unused]] Word64 fin = 0;
  if constexpr (step >= Step::words) half = argument.own->send[blockIdx.x];
  if constexpr (step >= Step::fin_check) fin = load_acquire(argument.own->fin[blockIdx.x]);
  if constexpr (step >= Step::sticky)
    if (failed != 0) return;

  bool aborted = false;
  if constexpr (step >= Step::words) {
    epoch = half.done + 1;
    if constexpr (step >= Step::fin_check && mode != synchronous) {
      auto patience = patience_of<step>(argument);
      while (half.posted != 0 && !aborted && fin + slots < epoch + 1) {
        aborted = patience.over();
        fin = load_acquire(argument.own->fin[blockIdx.x]);
      }
    }
    if (half.posted != 0) ++epoch;
    if constexpr (mode == ready) aborted = aborted || load_acquire(argument.own->cts) < epoch;
  }
  if constexpr (handover == Handover::late) let_successor_in();

  Cell* const slot = argument.ring + epoch % slots * argument.cells;
  if (!aborted) {
    for (std::uint32_t at = first; at < end; at += group * blockDim.x) {
      if (at != first) fetch(at);
#pragma unroll
      for (int i = 0; i < group; ++i)
        if (at + i * blockDim.x < end)
          store_cell(slot + at + i * blockDim.x, data[i], static_cast<std::uint32_t>(epoch));
    }
  }
  if (!agree<step>(aborted, argument)) return;
  if constexpr (step >= Step::words)
    if (threadIdx.x == 0) argument.own->send[blockIdx.x] = {epoch - 1, 1};
}

template <Step step, Handover handover, int group>
__device__ void wait(const Argument<step>& argument) {
  const auto [first, end] = own_cells(argument);
  [[maybe_unused]] Word64 failed = 0;
  if constexpr (step >= Step::sticky) failed = argument.own->failed;
  Word64 epoch = argument.epoch;
  if constexpr (step >= Step::words) epoch = argument.own->receive[blockIdx.x].done + 1;
  if constexpr (step >= Step::sticky)
    if (failed != 0) return;
  // Of the epoch before: its time passes while the message is awaited.
  if constexpr (step >= Step::fin_store)
    if (threadIdx.x == 0)
      SystemWord(argument.peer->fin[blockIdx.x]).store(epoch - 1, ::cuda::memory_order_relaxed);

  const Cell* const slot = argument.ring + epoch % slots * argument.cells;
  const auto flag = static_cast<std::uint32_t>(epoch);
  auto patience = patience_of<step>(argument);
  bool aborted = false;
  for (std::uint32_t at = first; at < end && !aborted; at += group * blockDim.x) {
    Word64 data[group]{};
    bool whole = false;
    while (!whole && !aborted) {
      whole = true;
#pragma unroll
      for (int i = 0; i < group; ++i) {
        if (at + i * blockDim.x >= end) continue;
        const Cell cell = load_cell(slot + at + i * blockDim.x);
        whole = whole && cell.low >> 32 == flag && cell.high >> 32 == flag;
        data[i] = (cell.low & 0xffffffffu) | cell.high << 32;
      }
      if (!whole) aborted = patience.over();
    }
#pragma unroll
    for (int i = 0; i < group; ++i)
      if (whole && at + i * blockDim.x < end)
        reinterpret_cast<Word64*>(argument.buffer)[at + i * blockDim.x] = data[i];
  }
  if constexpr (handover == Handover::late) let_successor_in();
  if (!agree<step>(aborted, argument)) return;
  if constexpr (step >= Step::words)
    if (threadIdx.x == 0) argument.own->receive[blockIdx.x].done = epoch;
}

template <Step step, Handover handover, int group>
__global__ void __launch_bounds__(most_threads)
    send_kernel(const __grid_constant__ Argument<step> argument) {
  begin<handover>();
  if constexpr (step >= Step::choices) {
    const bool wide = argument.share > blockDim.x;
    if (argument.mode == synchronous)
      return wide ? send<step, handover, synchronous, wide_group>(argument)
                  : send<step, handover, synchronous, 1>(argument);
    if (argument.mode == ready)
      return wide ? send<step, handover, ready, wide_group>(argument)
                  : send<step, handover, ready, 1>(argument);
    if (wide) return send<step, handover, standard, wide_group>(argument);
  }
  send<step, handover, standard, group>(argument);
}

template <Step step, Handover handover, int group>
__global__ void __launch_bounds__(most_threads)
    wait_kernel(const __grid_constant__ Argument<step> argument) {
  begin<handover>();
  if constexpr (step >= Step::choices)
    if (argument.share > blockDim.x) return wait<step, handover, wide_group>(argument);
  wait<step, handover, group>(argument);
}

// A block answers when its part of the message has come, whatever the others do.
template <int group>
__global__ void __launch_bounds__(most_threads)
    trips_kernel(const __grid_constant__ Trip argument) {
  begin<Handover::early>();
  Least out = argument.out, in = argument.in;
  for (std::uint32_t i = 0; i < argument.trips; ++i, ++out.epoch, ++in.epoch) {
    if (argument.leads) send<Step::least, Handover::never, standard, group>(out);
    wait<Step::least, Handover::never, group>(in);
    __syncthreads();
    if (!argument.leads) send<Step::least, Handover::never, standard, group>(out);
  }
}

template <Step step, Handover handover, int group>
const void* kernel_of(Role role) {
  return role == Role::send ? reinterpret_cast<const void*>(&send_kernel<step, handover, group>)
                            : reinterpret_cast<const void*>(&wait_kernel<step, handover, group>);
}

template <Handover handover>
const void* least_kernel(Role role, bool wide) {
  return wide ? kernel_of<Step::least, handover, wide_group>(role)
              : kernel_of<Step::least, handover, 1>(role);
}

}  // namespace

const void* trip_kernel(bool wide) {
  return wide ? reinterpret_cast<const void*>(&trips_kernel<wide_group>)
              : reinterpret_cast<const void*>(&trips_kernel<1>);
}

const void* lines_kernel(Role role, Step step, Handover handover, bool wide) {
  switch (step) {
    case Step::least:
      break;
    case Step::descriptor:
      return kernel_of<Step::descriptor, Handover::early, 1>(role);
    case Step::sticky:
      return kernel_of<Step::sticky, Handover::early, 1>(role);
    case Step::words:
      return kernel_of<Step::words, Handover::early, 1>(role);
    case Step::fin_check:
      return kernel_of<Step::fin_check, Handover::early, 1>(role);
    case Step::fin_store:
      return kernel_of<Step::fin_store, Handover::early, 1>(role);
    case Step::patience:
      return kernel_of<Step::patience, Handover::early, 1>(role);
    case Step::release:
      return kernel_of<Step::release, Handover::late, 1>(role);
    case Step::vote:
      return kernel_of<Step::vote, Handover::late, 1>(role);
    case Step::choices:
      return kernel_of<Step::choices, Handover::late, 1>(role);
  }
  switch (handover) {
    case Handover::at_once:
      return least_kernel<Handover::at_once>(role, wide);
    case Handover::early:
      return least_kernel<Handover::early>(role, wide);
    case Handover::late:
      return least_kernel<Handover::late>(role, wide);
    case Handover::never:
      break;
  }
  return least_kernel<Handover::never>(role, wide);
}

}  // namespace penstock::bench::floor
