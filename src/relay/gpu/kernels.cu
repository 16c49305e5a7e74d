// SPDX-License-Identifier: Apache-2.0
#include "relay/gpu/kernels.hpp"

#include "gpu/gate_port.cuh"
#include "gpu/gate_stand.hpp"
#include "gpu/kernel_batch.cuh"
#include "gpu/staged_copy.cuh"
#include "gpu/staged_copy_shape.hpp"

namespace penstock::relay {
using gpu::Arrival, gpu::BlockIndex, gpu::Failure, gpu::GatePort, gpu::GateStand, gpu::KernelBatch,
    gpu::Reports, gpu::SystemWord, gpu::arrive, gpu::await_host, gpu::copy_share, gpu::launch_batch,
    gpu::let_successor_in, gpu::report_first;

namespace {

using gpu::StagedCopyShape;

template <int capacity>
using RelayBatch = KernelBatch<Post, capacity>;

__device__ void copy(const Post& post, const BlockIndex& place) {
  if (post.staging == nullptr) return;
  if (post.sends)
    copy_share(post.staging, post.buffer, post.bytes, place);
  else
    copy_share(post.buffer, post.staging, post.bytes, place);
}

// The epoch of the start or wait that runs. Thread 0's: it lies in the host's memory.
__device__ Word64 next_epoch(const Post& post) {
  return SystemWord(post.words->done).load(::cuda::memory_order_relaxed) + 1;
}

__device__ void start(const Reports& reports, const Post& post, const BlockIndex& place) {
  let_successor_in();  // a start waits for nobody
  SystemWord started(post.words->started);
  Word64 epoch = 0;
  bool twice = false;
  if (threadIdx.x == 0) {
    epoch = next_epoch(post);
    // By a graph without the wait. After a failure the wait has ended without its epoch, and the
    // next one says why.
    twice = started.load(::cuda::memory_order_relaxed) >= epoch &&
            SystemWord(post.words->completed).load(::cuda::memory_order_relaxed) != no_more;
  }
  if (post.sends) copy(post, place);
  const Arrival arrival = arrive(post.arrivals, place.blocks, twice);
  if (!arrival.last) return;
  if (arrival.failed)
    report_first(reports, post.id, Failure::started_twice);
  else
    // Release: the copy, and what the stream did before, come before the message.
    started.store(epoch, ::cuda::memory_order_release);
}

// `is_last`: this block waits for nothing more.
__device__ void wait(const Reports& reports, const Post& post, const BlockIndex& place,
                     bool is_last) {
  const Word64 epoch = threadIdx.x == 0 ? next_epoch(post) : 0;
  const Failure failure =
      await_host(reports, post.id, post.words->awaited, post.words->completed, epoch);
  const bool failed = failure != Failure::none;
  if (is_last) let_successor_in();
  if (!failed && !post.sends) copy(post, place);
  const Arrival arrival = arrive(post.arrivals, place.blocks, failed);
  if (failed && threadIdx.x == 0) report_first(reports, post.id, failure);
  // A message of which a block has copied nothing is not there.
  if (arrival.last && !arrival.failed)
    SystemWord(post.words->done).store(epoch, ::cuda::memory_order_relaxed);
}

template <bool starts>
struct Together {
  static constexpr unsigned most_threads = StagedCopyShape::most_threads, resident = 0;
  template <int capacity>
  static __device__ void run(const RelayBatch<capacity>& batch) {
    if (batch.queue_failure->failed != 0) return;
    BlockIndex place;
    const Post& post = item_of_block(batch, place);
    if constexpr (starts)
      start(batch.reports(), post, place);
    else
      wait(batch.reports(), post, place, true);
  }
};

// On a crowded device: one block waits for one post after the other, and copies alone. The relay
// completes each of them without the others.
struct WaitInTurn {
  static constexpr unsigned most_threads = StagedCopyShape::most_threads, resident = 0;
  template <int capacity>
  static __device__ void run(const RelayBatch<capacity>& batch) {
    if (batch.queue_failure->failed != 0) return;
    for (int i = 0; i < batch.count; ++i)
      wait(batch.reports(), batch.item[i], BlockIndex{0, 1}, i + 1 == batch.count);
  }
};

// Before the stream stands at the gates of waits. After a failure they stay open: what follows ends
// at once.
struct CloseGates {
  static constexpr unsigned most_threads = 32, resident = 0;
  template <int capacity>
  static __device__ void run(const RelayBatch<capacity>& batch) {
    let_successor_in();
    if (static_cast<int>(threadIdx.x) >= batch.count) return;
    RelayWords& words = *batch.item[threadIdx.x].words;
    GatePort gate(words.gate);
    if (batch.queue_failure->failed != 0) return gate.store_open(1);
    protocol::gate::close(gate, SystemWord(words.done).load(::cuda::memory_order_relaxed) + 1);
    // Behind the fence of the closing, as no_more is stored before the gate is opened for it.
    if (SystemWord(words.completed).load(::cuda::memory_order_relaxed) == no_more)
      gate.store_open(1);
  }
};

template <bool starts, int capacity>
cudaError_t launch_as(const Launch& launch, std::span<const Post> posts) {
  RelayBatch<capacity> batch(launch, posts);
  const gpu::StagedGrid grid = gpu::grid_of(posts);
  if (!starts && launch.crowded) return launch_batch<WaitInTurn>(launch, 1, grid.threads, batch);
  return launch_batch<Together<starts>>(launch, grid.blocks, grid.threads, batch);
}

cudaError_t launch_closing(const Launch& launch, std::span<const Post> posts) {
  RelayBatch<largest_batch> batch(launch, posts);
  return launch_batch<CloseGates>(launch, 1, 32, batch);
}

template <bool starts>
cudaError_t launch_by_size(const Launch& launch, std::span<const Post> posts) {
  if (posts.size() <= 1) return launch_as<starts, 1>(launch, posts);
  return launch_as<starts, largest_batch>(launch, posts);
}

}  // namespace

void shape(Post& post) noexcept {
  if (post.staging == nullptr) return;
  const StagedCopyShape copy(post.bytes);
  post.blocks = copy.blocks;
  post.threads = copy.threads;
}

cudaError_t launch_starts(const Launch& launch, std::span<const Post> posts) {
  return launch_by_size<true>(launch, posts);
}

cudaError_t launch_waits(const Launch& launch, std::span<const Post> posts) {
  return launch_by_size<false>(launch, posts);
}

// Behind the gates the kernel finds all complete, and keeps no place for long.
cudaError_t launch_waits_at_gates(const Launch& launch, std::span<const Post> posts) {
  static_assert(largest_batch <= GateStand::most && largest_batch <= 32);
  if (const cudaError_t code = launch_closing(launch, posts); code != cudaSuccess) return code;
  GateStand stand(*launch.report);
  for (const Post& post : posts) stand.add(post.id, post.words->gate);
  if (const cudaError_t code = stand.enqueue(launch.stream); code != cudaSuccess) return code;
  Launch behind = launch;
  behind.crowded = false;
  behind.dependent = false;  // on a kernel, which a gate is not
  return launch_waits(behind, posts);
}

cudaError_t load_kernels(const Launch& launch) {
  Launch crowded = launch;
  crowded.crowded = true;
  for (const Launch& form : {launch, crowded})
    for (const auto call : {&launch_as<true, 1>, &launch_as<true, largest_batch>,
                            &launch_as<false, 1>, &launch_as<false, largest_batch>})
      if (const cudaError_t code = call(form, {}); code != cudaSuccess) return code;
  if (const cudaError_t code = launch_closing(launch, {}); code != cudaSuccess) return code;
  return cudaStreamSynchronize(launch.stream);
}

}  // namespace penstock::relay
