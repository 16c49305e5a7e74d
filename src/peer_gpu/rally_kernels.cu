// SPDX-License-Identifier: Apache-2.0
#include "peer_gpu/rally_kernels.hpp"

#include <algorithm>

#include "gpu/kernel_batch.cuh"
#include "gpu/poll_timer.cuh"
#include "gpu/reports.cuh"
#include "peer_gpu/rally_lines_of_two.cuh"
#include "peer_gpu/rally_port.cuh"
#include "peer_gpu/rally_port_of_two.cuh"
#include "peer_gpu/shape.hpp"

namespace penstock::peer_gpu {

namespace rally = protocol::rally;
using gpu::BlockIndex, gpu::DeviceWord, gpu::Failure, gpu::KernelBatch, gpu::PollTimer,
    gpu::Reports, gpu::Request, gpu::SystemWord, gpu::launch_batch;
using protocol::Epoch, protocol::Progress;

namespace {

// Of the thread that has found out; the others of its block, and other blocks, may find it too.
// Release: what this kernel has done comes before.
__device__ __noinline__ void give_up(const Reports& reports, const RallyItem& item, Epoch epoch,
                                     Failure why) {
  const Word64 before =
      DeviceWord(item.state->given_up).exchange(epoch, ::cuda::memory_order_acq_rel);
  SystemWord(item.notice->given_up).store(epoch, ::cuda::memory_order_release);
  gpu::report_first(reports, item.id, before != 0 ? Failure::given_up : why);
}

// Each thread, or a warp that shares lines, polls for itself: no vote, no shuffle among threads
// that wait for different cells. Whether the step has ended, at the latest once more after the wait
// was to end: what it is for may have come just before the member went.
template <class Port, class Step>
__device__ bool poll(const Reports& reports, const RallyItem& item, Epoch epoch, bool hopeless,
                     Step step) {
  PollTimer timer(reports, item.id, item.notice->awaited, epoch);
  bool ended = false, ends = hopeless;
#pragma unroll 1
  for (unsigned look = 1;; ++look) {
    ended = step() == Progress::ended;
    if (ended || ends) break;
    if (look % PollTimer::polls_between == 0) ends = Port::any(timer.late() == Request::end);
  }
  timer.ended();
  return ended;
}

// The first cell, or line, of each block of the members' starts. Who has found them waits for
// nothing but kernels that run and wait for nobody.
template <class Port>
__device__ void look(const Reports& reports, const RallyItem& item) {
  Port port(item, 0, Port::processor_threads);
  const bool hopeless = Port::any(reports.queue_failure.failed != 0 || item.state->given_up != 0);
  const Epoch epoch = item.state->block[0].done + 1;
  const unsigned slot = rally::slot_of(epoch);
  const std::uint64_t flag = protocol::line_flag(epoch, port.flag_bits());
  const unsigned starts = item.members * most_rally_blocks;
  for (unsigned each = threadIdx.x / Port::processor_threads; each < starts;
       each += blockDim.x / Port::processor_threads) {
    const unsigned member = each % item.members;
    const std::uint32_t line = each / item.members * (item.threads / Port::processor_threads);
    if (member == port.me() || line >= port.lines_from(member)) continue;
    poll<Port>(reports, item, epoch, hopeless, [&] {
      return port.load_flag(member, slot, line) == flag ? Progress::ended : Progress::pending;
    });
  }
}

// So many are on their way before the first is awaited: of 1 MiB, where a warp has three, all.
constexpr std::uint32_t lines_ahead = 3;

// A launch that both starts and waits keeps its places, so it may await some lines before the last
// is sent.
template <class Port>
__device__ bool exchange(const Reports& reports, const RallyItem& item, Port& port,
                         rally::State state, bool fine) {
  const bool starts = fine && item.starts;
  const bool in_turns = Port::in_turns && item.waits;
  if (starts && !in_turns) rally::start(port, state);
  if (!item.waits) return fine;
  if (in_turns && !starts) state.sent = port.most_lines();
  return poll<Port>(reports, item, state.done + 1, !fine,
                    [&] {
                      if constexpr (Port::in_turns)
                        return rally::exchange(port, state, lines_ahead);
                      return rally::wait(port, state);
                    }) &&
         fine;
}

template <class Port>
__device__ void serve(const Reports& reports, const RallyItem& item, const BlockIndex& place) {
  const std::uint32_t thread = place.index * blockDim.x + threadIdx.x;
  Port port(item, thread, place.blocks * blockDim.x);
  const Word64 failed = reports.queue_failure.failed, given_up = item.state->given_up;
  const RallyWords words = item.state->block[place.index];
  const Epoch epoch = words.done + 1;
  const bool twice = item.starts && words.started == epoch;
  const bool may = !Port::any(failed != 0 || given_up != 0 || twice);
  const bool fine = exchange(reports, item, port, rally::State{words.done}, may);
  const bool all_fine = __syncthreads_and(fine) != 0;  // and all threads have read the words
  gpu::let_successor_in();
  if (!all_fine) {
    if (threadIdx.x == 0)
      give_up(reports, item, given_up != 0 ? given_up : epoch,
              twice ? Failure::started_twice : Failure::released);
    return;
  }
  for (unsigned i = place.index + threadIdx.x * place.blocks; i < most_rally_blocks;
       i += blockDim.x * place.blocks) {
    if (item.starts) item.state->block[i].started = epoch;
    if (item.waits) item.state->block[i].done = epoch;
  }
}

struct OfRallies : gpu::FetchesArguments {
  static constexpr unsigned most_threads = peer_gpu::most_threads, resident = 2;
  static constexpr std::size_t least_fetched = 0;
};

__device__ void serve_lines(const Reports& reports, const RallyItem& item,
                            const BlockIndex& place) {
  if (item.looks)
    look<RallyLinesOfTwo>(reports, item);
  else
    serve<RallyLinesOfTwo>(reports, item, place);
}

struct RalliesInLines : OfRallies {
  template <class Batch>
  static __device__ void run(const Batch& batch) {
    BlockIndex place;
    const RallyItem& item = gpu::item_of_block(batch, place);
    serve<RallyLinesOfTwo>(batch.reports(), item, place);
  }
};

struct Rallies : OfRallies {
  template <class Batch>
  static __device__ void run(const Batch& batch) {
    BlockIndex place;
    const RallyItem& item = gpu::item_of_block(batch, place);
    if (item.form == RallyForm::lines)
      serve_lines(batch.reports(), item, place);
    else if (item.looks)
      look<RallyPort<4>>(batch.reports(), item);
    else if (item.most_units <= place.blocks * blockDim.x)
      serve<RallyPort<1>>(batch.reports(), item, place);
    else
      serve<RallyPort<4>>(batch.reports(), item, place);
  }
};

struct RalliesOfTwo : OfRallies {
  template <class Batch>
  static __device__ void run(const Batch& batch) {
    BlockIndex place;
    const RallyItem& item = gpu::item_of_block(batch, place);
    serve<RallyPortOfTwo>(batch.reports(), item, place);
  }
};

bool serves_two(const RallyItem& item, unsigned threads) {
  return item.form == RallyForm::cells && item.members == 2 && !item.looks &&
         item.most_units <= item.blocks * threads;
}
bool in_lines(const RallyItem& item, unsigned /*threads*/) {
  return item.form == RallyForm::lines && !item.looks;
}

template <int capacity>
cudaError_t launch_as(const Launch& launch, std::span<const RallyItem> items) {
  KernelBatch<RallyItem, capacity> batch(launch, items);
  const std::span shared(batch.item, items.size());
  unsigned threads = 32;
  for (const RallyItem& item : shared) threads = std::max<unsigned>(threads, item.threads);
  const unsigned blocks =
      share_out(shared, most_rally_blocks, [](const RallyItem&) { return true; });
  const auto all = [&](bool (*are)(const RallyItem&, unsigned)) {
    return std::all_of(shared.begin(), shared.end(),
                       [&](const RallyItem& item) { return are(item, threads); });
  };
  if (all(serves_two)) return launch_batch<RalliesOfTwo>(launch, blocks, threads, batch);
  if (all(in_lines)) return launch_batch<RalliesInLines>(launch, blocks, threads, batch);
  return launch_batch<Rallies>(launch, blocks, threads, batch);
}

template <class Body, int capacity>
cudaError_t load(const Launch& launch) {
  KernelBatch<RallyItem, capacity> none(launch, {});
  return launch_batch<Body>(launch, 1, 32, none);
}

}  // namespace

cudaError_t launch_rallies(const Launch& launch, std::span<const RallyItem> items) {
  if (items.size() <= 1) return launch_as<1>(launch, items);
  return launch_as<static_cast<int>(largest_rally_batch)>(launch, items);
}

cudaError_t load_rally_kernels(const Launch& launch) {
  constexpr int several = static_cast<int>(largest_rally_batch);
  for (const auto each :
       {&load<RalliesOfTwo, 1>, &load<RalliesOfTwo, several>, &load<RalliesInLines, 1>,
        &load<RalliesInLines, several>, &load<Rallies, 1>, &load<Rallies, several>})
    if (const cudaError_t code = each(launch); code != cudaSuccess) return code;
  return cudaStreamSynchronize(launch.stream);
}

}  // namespace penstock::peer_gpu
