// SPDX-License-Identifier: Apache-2.0
#include "peer_gpu/rally_kernels.hpp"

#include <algorithm>

#include "gpu/kernel_batch.cuh"
#include "gpu/poll_timer.cuh"
#include "gpu/reports.cuh"
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

// Each thread polls for itself: no vote, no shuffle, as threads of a warp wait for different cells.
// Whether the step has ended, at the latest once more after the wait was to end: what it is for may
// have come just before the member went.
template <class Step>
__device__ bool poll(const Reports& reports, const RallyItem& item, Epoch epoch, bool hopeless,
                     Step step) {
  if (step() == Progress::ended) return true;
  if (hopeless) return false;
  PollTimer timer(reports, item.id, item.notice->awaited, epoch);
  Request request = Request::go_on;
  while (request != Request::end) {
#pragma unroll 1
    for (unsigned look = 0; look < PollTimer::polls_between; ++look) {
      if (step() != Progress::ended) continue;
      timer.ended();
      return true;
    }
    request = timer.late();
  }
  timer.ended();
  return step() == Progress::ended;
}

// The first cell of each block of the members' starts. Who has found them waits for nothing but
// kernels that run and wait for nobody.
__device__ void look(const Reports& reports, const RallyItem& item) {
  RallyPort<1> port(item, 0, 1);
  const bool hopeless = reports.queue_failure.failed != 0 || item.state->given_up != 0;
  const Epoch epoch = item.state->block[0].done + 1;
  const unsigned slot = rally::slot_of(epoch);
  const std::uint64_t flag = protocol::line_flag(epoch, port.flag_bits());
  const unsigned cells = item.members * most_rally_blocks;
  for (unsigned each = threadIdx.x; each < cells; each += blockDim.x) {
    const unsigned member = each % item.members;
    const std::uint32_t cell = each / item.members * item.threads;
    if (member == item.me || cell >= port.cells_from(member)) continue;
    poll(reports, item, epoch, hopeless, [&] {
      return port.load_flag(member, slot, cell) == flag ? Progress::ended : Progress::pending;
    });
  }
}

template <class Port>
__device__ void serve(const Reports& reports, const RallyItem& item, const BlockIndex& place) {
  const std::uint32_t thread = place.index * blockDim.x + threadIdx.x;
  Port port(item, thread, place.blocks * blockDim.x);
  const Word64 failed = reports.queue_failure.failed, given_up = item.state->given_up;
  const RallyWords words = item.state->block[place.index];
  const Epoch epoch = words.done + 1;
  bool fine = failed == 0 && given_up == 0;
  const bool twice = item.starts && words.started == epoch;
  fine = fine && !twice;
  if (item.starts && fine) rally::start(port, rally::State{words.done});
  if (item.waits) {
    rally::State state{words.done};
    fine = poll(reports, item, epoch, !fine, [&] { return rally::wait(port, state); }) && fine;
  }
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

struct Rallies : OfRallies {
  template <class Batch>
  static __device__ void run(const Batch& batch) {
    BlockIndex place;
    const RallyItem& item = gpu::item_of_block(batch, place);
    if (item.looks)
      look(batch.reports(), item);
    else if (item.most_cells <= place.blocks * blockDim.x)
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
  return item.members == 2 && !item.looks && item.most_cells <= item.blocks * threads;
}

template <int capacity>
cudaError_t launch_as(const Launch& launch, std::span<const RallyItem> items) {
  KernelBatch<RallyItem, capacity> batch(launch, items);
  const std::span shared(batch.item, items.size());
  unsigned threads = 32;
  for (const RallyItem& item : shared) threads = std::max<unsigned>(threads, item.threads);
  const unsigned blocks =
      share_out(shared, most_rally_blocks, [](const RallyItem&) { return true; });
  if (std::all_of(shared.begin(), shared.end(),
                  [&](const RallyItem& item) { return serves_two(item, threads); }))
    return launch_batch<RalliesOfTwo>(launch, blocks, threads, batch);
  return launch_batch<Rallies>(launch, blocks, threads, batch);
}

template <int capacity>
cudaError_t load_both(const Launch& launch) {
  KernelBatch<RallyItem, capacity> none(launch, {});
  if (const cudaError_t code = launch_batch<RalliesOfTwo>(launch, 1, 32, none); code != cudaSuccess)
    return code;
  return launch_batch<Rallies>(launch, 1, 32, none);
}

}  // namespace

cudaError_t launch_rallies(const Launch& launch, std::span<const RallyItem> items) {
  if (items.size() <= 1) return launch_as<1>(launch, items);
  return launch_as<static_cast<int>(largest_rally_batch)>(launch, items);
}

cudaError_t load_rally_kernels(const Launch& launch) {
  for (const auto load : {&load_both<1>, &load_both<static_cast<int>(largest_rally_batch)>})
    if (const cudaError_t code = load(launch); code != cudaSuccess) return code;
  return cudaStreamSynchronize(launch.stream);
}

}  // namespace penstock::peer_gpu
