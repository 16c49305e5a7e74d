// SPDX-License-Identifier: Apache-2.0
#include "peer_gpu/kernels.hpp"
#include "peer_gpu/shape.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "gpu/kernel_batch.cuh"
#include "peer_gpu/gate.hpp"
#include "peer_gpu/works.cuh"

namespace penstock::peer_gpu {
using gpu::KernelBatch, gpu::address_of, gpu::launch_batch;

namespace {

using device::gpu::Kernel;
template <int capacity>
using Batch = KernelBatch<Pair, capacity>;

enum class Call { start, wait };
// Which pairs a kernel may be given. Kernels for rings alone have less code and need fewer
// registers.
enum class Kit { ring, rendezvous, any };

constexpr Kit kit_of(const Pair& pair) {
  return is_ring(pair.path) ? Kit::ring : Kit::rendezvous;
}

constexpr unsigned resident_of(Kit kit) {  // blocks a multiprocessor has registers for, at least
  return kit == Kit::ring ? 2 : 1;
}

// The blocks of one kernel together that may wait: they keep their places while they do, 32
// multiprocessors at most (gpu_shares.cpp). So may those of a ring's start, whose sender can be
// ahead of its slots.
constexpr unsigned most_that_wait(Call call, Kit kit) {
  if (kit == Kit::ring) return 64;
  return call == Call::start ? 32 : 16;
}
// The start of a rendezvous does not wait for its peer, so its kernel may have more blocks.
constexpr unsigned most_that_pass = 96;

// ---- What a block does -------------------------------------------------------------------------

// The first blocks of all pairs come first, so that each pair has its deciding block on the device
// as early as can be.
template <int capacity>
__device__ const Pair& pair_of_duty(const Batch<capacity>& batch, unsigned duty,
                                    BlockIndex& place) {
  const auto count = static_cast<unsigned>(batch.count);
  unsigned which = duty;
  if (which >= count) {
    unsigned left = duty - count;
    for (which = 0; left + 1 >= batch.item[which].blocks; ++which)
      left -= batch.item[which].blocks - 1u;
    place.index = left + 1;
  }
  place.blocks = batch.item[which].blocks;
  return batch.item[which];
}

template <Call call, Kit kit, Form form>
__device__ void serve(const Reports& reports, const Pair& pair, const BlockIndex& place,
                      Crew<form>& crew) {
  using Rings = std::conditional_t<call == Call::start, RingStarts, RingWaits>;
  using Others = std::conditional_t<call == Call::start, RendezvousStarts, RendezvousWaits>;
  if (kit == Kit::ring || is_ring(pair.path))
    Rings::template run<form>(pair.work, reports, pair, place, crew);
  else
    Others::template run<form>(pair.work, reports, pair, place, crew);
}

// ---- One pair ----------------------------------------------------------------------------------

template <class Work, Kit kit>
struct One {
  static constexpr unsigned most_threads = peer_gpu::most_threads, resident = resident_of(kit);
  static __device__ void run(const Batch<1>& batch) {
    Crew<Form::all_stay> crew;
    Work::template run<Form::all_stay>(batch.reports(), batch.item[0],
                                       BlockIndex{blockIdx.x, gridDim.x}, crew);
  }
};

template <Kit kit, class... Each>
std::span<const Kernel> kernels_of(Works<Each...>) {
  static const std::array<Kernel, sizeof...(Each)> kernels{
      Kernel(address_of<One<Each, kit>, Batch<1>>())...};
  return kernels;
}

std::span<const Kernel> kernels_for(Call call, Kit kit) {
  if (kit == Kit::ring)
    return call == Call::start ? kernels_of<Kit::ring>(RingStarts())
                               : kernels_of<Kit::ring>(RingWaits());
  return call == Call::start ? kernels_of<Kit::rendezvous>(RendezvousStarts())
                             : kernels_of<Kit::rendezvous>(RendezvousWaits());
}

cudaError_t launch_one(const Launch& launch, Call call, const Pair& pair) {
  const Kit kit = kit_of(pair);
  const bool passes = call == Call::start && kit == Kit::rendezvous;
  const unsigned blocks =
      std::min<unsigned>(pair.blocks, passes ? most_that_pass : most_that_wait(call, kit));
  Batch<1> batch(launch, {&pair, 1});
  return kernels_for(call, kit)[pair.work].launch(
      {blocks, pair.threads, launch.stream, launch.dependent}, &batch);
}

// ---- Several pairs -----------------------------------------------------------------------------

template <Call call, Kit kit>
struct Several : gpu::FetchesArguments {
  static constexpr unsigned most_threads = peer_gpu::most_threads, resident = resident_of(kit);
  template <int capacity>
  static __device__ void run(const Batch<capacity>& batch) {
    BlockIndex place;
    const Pair& pair = pair_of_duty(batch, blockIdx.x, place);
    Crew<Form::all_stay> crew;
    serve<call, kit>(batch.reports(), pair, place, crew);
  }
};

// ---- Starts and waits together ------------------------------------------------------------------

// One of either, each with its own code.
template <class Port>
struct Both {
  using Start = StartRingSend<protocol::Mode::standard, Port>;
  using Wait = WaitRingReceive<Port>;
  static constexpr unsigned most_threads = peer_gpu::most_threads,
                            resident = resident_of(Kit::ring);
  static __device__ void run(const Batch<2>& batch) {
    const unsigned starting = batch.item[0].blocks;
    Crew<Form::all_stay> crew;
    if (blockIdx.x < starting)
      Start::template run<Form::all_stay>(batch.reports(), batch.item[0],
                                          BlockIndex{blockIdx.x, starting}, crew);
    else
      Wait::template run<Form::all_stay>(batch.reports(), batch.item[1],
                                         BlockIndex{blockIdx.x - starting, batch.item[1].blocks},
                                         crew);
  }
};

// All starts are sends', and all waits receives'. The starts stand first, with all their blocks:
// none finds its place taken by a wait that may need it.
struct Together : gpu::FetchesArguments {
  static constexpr unsigned most_threads = peer_gpu::most_threads,
                            resident = resident_of(Kit::ring);
  template <int capacity>
  static __device__ void run(const Batch<capacity>& batch) {
    BlockIndex place;
    const Pair& pair = gpu::item_of_block(batch, place);
    Crew<Form::all_stay> crew;
    if (pair.sends)
      serve<Call::start, Kit::ring>(batch.reports(), pair, place, crew);
    else
      serve<Call::wait, Kit::ring>(batch.reports(), pair, place, crew);
  }
};

// Of standard pairs without gaps, whose messages lie and travel alike.
template <class... Port>
std::span<const Kernel> kernels_of_both() {
  static const std::array<Kernel, sizeof...(Port)> kernels{
      Kernel(address_of<Both<Port>, Batch<2>>())...};
  return kernels;
}
template <class... Port>
const Kernel* kernel_of_both(std::type_identity<Works<Port...>>, const Pair& start,
                             const Pair& wait) {
  const auto kernels = kernels_of_both<Port...>();
  std::size_t i = 0;
  const Kernel* found = nullptr;
  (void)((start.work == RingStarts::number<StartRingSend<protocol::Mode::standard, Port>>() &&
                  wait.work == RingWaits::number<WaitRingReceive<Port>>()
              ? (found = &kernels[i], true)
              : (++i, false)) ||
         ...);
  return found;
}
using PortsOfBoth =
    Works<Cell1<Fit::words>, Cell4<Fit::words>, Wide1<Fit::words>, Wide4<Fit::words>,
          Cell1<Fit::bytes>, Cell4<Fit::bytes>, Wide1<Fit::bytes>, Wide4<Fit::bytes>>;

template <int capacity>
cudaError_t launch_together_as(const Launch& launch, std::span<const Pair> pairs) {
  Batch<capacity> batch(launch, pairs);
  unsigned blocks = 0;
  unsigned threads = 32;
  for (const Pair& pair : pairs) {
    blocks += pair.blocks;
    threads = std::max<unsigned>(threads, pair.threads);
  }
  if constexpr (capacity == 2)
    if (const Kernel* const kernel =
            kernel_of_both(std::type_identity<PortsOfBoth>(), pairs[0], pairs[1]))
      return kernel->launch({blocks, threads, launch.stream, launch.dependent}, &batch);
  return launch_batch<Together>(launch, blocks, threads, batch);
}

// ---- On a crowded device -----------------------------------------------------------------------

// In this form few works do for all, as what they cost is not what counts there: any buffer, and
// several units a thread.
template <protocol::Mode mode>
__device__ void send_in_ring(const Reports& reports, const Pair& pair, const BlockIndex& place,
                             Crew<Form::one_stays>& crew) {
  if (pair.path == Path::ring)
    StartRingSend<mode, Cell4<Fit::any>>::template run<Form::one_stays>(reports, pair, place, crew);
  else
    StartRingSend<mode, Wide4<Fit::any>>::template run<Form::one_stays>(reports, pair, place, crew);
}

template <Call call>
__device__ void serve_duty(const Reports& reports, const Pair& pair, const BlockIndex& place,
                           Crew<Form::one_stays>& crew) {
  if (!is_ring(pair.path)) {
    using Others = std::conditional_t<call == Call::start, RendezvousStarts, RendezvousWaits>;
    Others::template run<Form::one_stays>(pair.work, reports, pair, place, crew);
  } else if constexpr (call == Call::start) {
    if (!pair.sends)
      StartRingReceive::run<Form::one_stays>(reports, pair, place, crew);
    else if (pair.mode == protocol::Mode::synchronous)
      send_in_ring<protocol::Mode::synchronous>(reports, pair, place, crew);
    else if (pair.mode == protocol::Mode::ready)
      send_in_ring<protocol::Mode::ready>(reports, pair, place, crew);
    else
      send_in_ring<protocol::Mode::standard>(reports, pair, place, crew);
  } else if (pair.sends) {
    if (pair.mode == protocol::Mode::synchronous)
      WaitRingSend::run<Form::one_stays>(reports, pair, place, crew);
    else
      SettleRingSend::run<Form::one_stays>(reports, pair, place, crew);
  } else if (pair.path == Path::ring) {
    WaitRingReceive<Cell4<Fit::any>>::template run<Form::one_stays>(reports, pair, place, crew);
  } else {
    WaitRingReceive<Wide4<Fit::any>>::template run<Form::one_stays>(reports, pair, place, crew);
  }
}

// For one pair or several: each block has one duty after the other.
template <Call call>
struct InCrew {
  static constexpr unsigned most_threads = peer_gpu::most_threads, resident = 1;
  template <int capacity>
  static __device__ void run(const Batch<capacity>& batch) {
    Crew<Form::one_stays> crew(batch.item[0]);
    do {
      BlockIndex place;
      const Pair& pair = pair_of_duty(batch, crew.duty(), place);
      serve_duty<call>(batch.reports(), pair, place, crew);
    } while (crew.goes_on());
  }
};

unsigned share_out(std::span<Pair> pairs, Call call, Kit kit, bool crowded) {
  const auto waits = [&](const Pair& pair) { return call == Call::wait || is_ring(pair.path); };
  const auto passes = [&](const Pair& pair) { return !waits(pair); };
  const auto all = [](const Pair&) { return true; };
  const unsigned most = most_that_wait(call, kit);
  if (crowded) return share_out(pairs, std::min(most, protocol::relief::most_duties), all);
  return share_out(pairs, most, waits) + share_out(pairs, most_that_pass, passes);
}

template <Call call, Kit kit, int capacity>
cudaError_t launch_several_as(const Launch& launch, std::span<const Pair> pairs) {
  Batch<capacity> batch(launch, pairs);
  // The block that stays does one duty after the other: it must find none that waits for another
  // block's, nor one without which another block's message is not whole.
  if (launch.crowded && pairs.size() > 1)
    for (int i = 0; i < batch.count; ++i)
      if (!is_ring(batch.item[i].path)) batch.item[i].blocks = 1;
  unsigned threads = 32;
  for (const Pair& pair : pairs) threads = std::max<unsigned>(threads, pair.threads);
  const std::span shared(batch.item, pairs.size());
  const unsigned blocks = std::max(share_out(shared, call, kit, launch.crowded), 1u);
  if (launch.crowded) return launch_batch<InCrew<call>>(launch, blocks, threads, batch);
  return launch_batch<Several<call, kit>>(launch, blocks, threads, batch);
}

// A launch costs the more the more arguments it carries.
template <Call call, Kit kit>
cudaError_t launch_several_of(const Launch& launch, std::span<const Pair> pairs) {
  return pairs.size() <= 4 ? launch_several_as<call, kit, 4>(launch, pairs)
                           : launch_several_as<call, kit, largest_batch>(launch, pairs);
}

template <Call call>
cudaError_t launch_several(const Launch& launch, std::span<const Pair> pairs) {
  const bool rings =
      std::all_of(pairs.begin(), pairs.end(), [](const Pair& pair) { return is_ring(pair.path); });
  return rings ? launch_several_of<call, Kit::ring>(launch, pairs)
               : launch_several_of<call, Kit::any>(launch, pairs);
}

// ---- The launches of a call --------------------------------------------------------------------

bool has_help(const Pair& pair) {
  return !is_ring(pair.path) && pair.blocks > 1;
}

// How many pairs, from the first one on, the next kernel serves on a crowded device. There a
// rendezvous that shares its kernel has one block. Few of them are faster one after the other,
// with all their blocks; many are faster together.
std::size_t next_together(std::span<const Pair> pairs) {
  constexpr std::ptrdiff_t few = 8;
  if (std::ranges::count_if(pairs, has_help) > few) return pairs.size();
  if (has_help(pairs.front())) return 1;
  return static_cast<std::size_t>(std::ranges::find_if(pairs, has_help) - pairs.begin());
}

// A kernel of one block has none that could leave.
bool has_kernel_of_its_own(const Launch& launch, std::span<const Pair> pairs) {
  return pairs.size() == 1 && (!launch.crowded || pairs.front().blocks == 1);
}

template <Call call>
cudaError_t launch(const Launch& launch, std::span<const Pair> pairs) {
  cudaError_t code = cudaSuccess;
  while (!pairs.empty() && code == cudaSuccess) {
    const auto next = pairs.first(launch.crowded ? next_together(pairs) : pairs.size());
    code = has_kernel_of_its_own(launch, next) ? launch_one(launch, call, next.front())
                                               : launch_several<call>(launch, next);
    pairs = pairs.subspan(next.size());
  }
  return code;
}

// ---- Loading -----------------------------------------------------------------------------------

cudaError_t load_one(const Launch& launch, Call call, Kit kit) {
  Batch<1> nothing(launch, {});
  for (const Kernel& kernel : kernels_for(call, kit))
    if (const cudaError_t code = kernel.launch({1, 32, launch.stream, launch.dependent}, &nothing);
        code != cudaSuccess)
      return code;
  return cudaSuccess;
}

template <class... Port>
cudaError_t load_both(std::type_identity<Works<Port...>>, const Launch& launch) {
  Batch<2> nothing(launch, {});
  for (const Kernel& kernel : kernels_of_both<Port...>())
    if (const cudaError_t code = kernel.launch({1, 32, launch.stream, launch.dependent}, &nothing);
        code != cudaSuccess)
      return code;
  return cudaSuccess;
}
cudaError_t load_together(const Launch& launch) {
  cudaError_t code = load_both(std::type_identity<PortsOfBoth>(), launch);
  if (code == cudaSuccess) code = launch_together_as<4>(launch, {});
  return code == cudaSuccess ? launch_together_as<largest_batch>(launch, {}) : code;
}

template <Call call, Kit kit>
cudaError_t load_several(const Launch& launch, bool crowded) {
  Launch form = launch;
  form.crowded = crowded;
  const cudaError_t code = launch_several_as<call, kit, 4>(form, {});
  return code == cudaSuccess ? launch_several_as<call, kit, largest_batch>(form, {}) : code;
}

}  // namespace

std::uint8_t work_of_start(const Pair& pair) {
  return static_cast<std::uint8_t>(is_ring(pair.path) ? ring_start(pair) : rendezvous_start(pair));
}

std::uint8_t work_of_wait(const Pair& pair) {
  return static_cast<std::uint8_t>(is_ring(pair.path) ? ring_wait(pair) : rendezvous_wait(pair));
}

std::uint8_t work_that_settles() {
  return static_cast<std::uint8_t>(RingWaits::number<SettleRingSend>());
}

cudaError_t launch_starts(const Launch& call, std::span<const Pair> pairs) {
  if (!call.crowded) return launch<Call::start>(call, pairs);
  // Kernels of one call follow each other there, and a large send's looks for its receive: those of
  // the peers come first, or each send would look in vain.
  std::array<Pair, largest_batch> receives_first;
  const auto receive = [](const Pair& pair) { return !pair.sends; };
  const auto sends = std::ranges::copy_if(pairs, receives_first.begin(), receive).out;
  std::ranges::remove_copy_if(pairs, sends, receive);
  return launch<Call::start>(call, std::span(receives_first).first(pairs.size()));
}

cudaError_t launch_waits(const Launch& call, std::span<const Pair> pairs) {
  return launch<Call::wait>(call, pairs);
}

bool leaves_no_wait(const Pair& pair) noexcept {
  return pair.sends && is_ring(pair.path) &&
         !protocol::ring::send_has_wait(pair.mode, rings_are_deferred);
}

bool fit_together(std::span<const Pair> starts, std::span<const Pair> waits) noexcept {
  const auto needs_no_start = [](const Pair& pair) {
    return !pair.sends && is_ring(pair.path) && pair.mode != protocol::Mode::synchronous &&
           !(pair.mode == protocol::Mode::ready && pair.checks_ready);
  };
  unsigned blocks = 0;
  for (const auto& pairs : {starts, waits})
    for (const Pair& pair : pairs) blocks += pair.blocks;
  return starts.size() + waits.size() <= largest_batch &&
         blocks <= most_that_wait(Call::wait, Kit::ring) &&
         std::ranges::all_of(waits, needs_no_start);
}

cudaError_t launch_together(const Launch& launch, std::span<const Pair> starts,
                            std::span<const Pair> waits) {
  std::array<Pair, largest_batch> both;
  const auto end = std::ranges::copy(starts, both.begin()).out;
  std::ranges::copy(waits, end);
  const std::span pairs(both.data(), starts.size() + waits.size());
  if (starts.size() == 1 && waits.size() == 1) return launch_together_as<2>(launch, pairs);
  if (pairs.size() <= 4) return launch_together_as<4>(launch, pairs);
  return launch_together_as<largest_batch>(launch, pairs);
}

cudaError_t load_kernels(const Launch& launch) {
  for (const Call call : {Call::start, Call::wait})
    for (const Kit kit : {Kit::ring, Kit::rendezvous})
      if (const cudaError_t code = load_one(launch, call, kit); code != cudaSuccess) return code;
  for (const auto load :
       {&load_several<Call::start, Kit::ring>, &load_several<Call::start, Kit::any>,
        &load_several<Call::wait, Kit::ring>, &load_several<Call::wait, Kit::any>})
    for (const bool crowded : {false, true})
      if (const cudaError_t code = load(launch, crowded); code != cudaSuccess) return code;
  if (const cudaError_t code = load_together(launch); code != cudaSuccess) return code;
  if (const cudaError_t code = load_gate_kernel(launch); code != cudaSuccess) return code;
  return cudaStreamSynchronize(launch.stream);
}

}  // namespace penstock::peer_gpu
