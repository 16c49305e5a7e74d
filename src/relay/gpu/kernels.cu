// SPDX-License-Identifier: Apache-2.0
#include "relay/gpu/kernels.hpp"

#include <algorithm>

#include "gpu/copy.cuh"
#include "gpu/gate_port.cuh"
#include "gpu/gate_stand.hpp"
#include "gpu/kernel_batch.cuh"
#include "gpu/poll_timer.cuh"
#include "gpu/reports.cuh"

namespace penstock::relay {
using gpu::BlockIndex, gpu::DeviceWord, gpu::Failure, gpu::GatePort, gpu::GateStand,
    gpu::KernelBatch, gpu::PollTimer, gpu::Reports, gpu::Request, gpu::SystemWord, gpu::agree,
    gpu::copy_bytes, gpu::device_line, gpu::fails_first, gpu::launch_batch, gpu::let_successor_in;

namespace {

constexpr std::uint64_t bytes_a_thread = 16;
constexpr std::uint64_t bytes_a_block = 64 * 1024;
constexpr unsigned most_blocks = 8;
constexpr unsigned most_threads = 512;

template <int capacity>
using RelayBatch = KernelBatch<Post, capacity>;

__device__ void fail(const Reports& reports, const Post& post, Failure why) {
  if (fails_first(reports)) report(reports, post.id, why);
}

__device__ void copy_share(const Post& post, const BlockIndex& place) {
  const std::uint64_t share = ((post.bytes + place.blocks - 1) / place.blocks + device_line - 1) /
                              device_line * device_line;
  const std::uint64_t begin = place.index * share;
  if (begin >= post.bytes) return;
  std::byte* const to = (post.sends ? post.staging : post.buffer) + begin;
  const std::byte* const from = (post.sends ? post.buffer : post.staging) + begin;
  copy_bytes(to, from, min(share, post.bytes - begin));
}

// How a thread finds its block when all of it is there. `last` in one thread: thread 0 of the block
// that gets here last, when all that the blocks did before has been done, as the host sees it too.
// It knows whether any has failed.
struct Arrival {
  bool last = false;
  bool failed = false;
};

__device__ Arrival arrive(const Post& post, const BlockIndex& place, bool failed) {
  constexpr Word64 failure = Word64{1} << 32;
  __syncthreads();
  if (threadIdx.x != 0) return {};
  if (place.blocks == 1) return {true, failed};
  ::cuda::atomic_thread_fence(::cuda::memory_order_acq_rel, ::cuda::thread_scope_system);
  DeviceWord arrivals(*post.arrivals);
  const Word64 own = failed ? failure + 1 : 1;
  const Word64 all = arrivals.fetch_add(own, ::cuda::memory_order_acq_rel) + own;
  if (all % failure != place.blocks) return {};
  arrivals.store(0, ::cuda::memory_order_relaxed);  // for the next kernel
  ::cuda::atomic_thread_fence(::cuda::memory_order_acq_rel, ::cuda::thread_scope_system);
  return {true, all >= failure};
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
  if (post.staging != nullptr && post.sends) copy_share(post, place);
  const Arrival arrival = arrive(post, place, twice);
  if (!arrival.last) return;
  if (arrival.failed)
    fail(reports, post, Failure::started_twice);
  else
    // Release: the copy, and what the stream did before, come before the message.
    started.store(epoch, ::cuda::memory_order_release);
}

// Thread 0's: looks until the relay has written the epoch.
__device__ Failure await(const Reports& reports, const Post& post, Word64 epoch) {
  SystemWord completed(post.words->completed);
  PollTimer timer(reports, post.id, post.words->awaited, epoch);
  Word64 seen = completed.load(::cuda::memory_order_relaxed);
  for (unsigned looks = 1; seen < epoch; ++looks) {
    if (looks % PollTimer::polls_between == 0 && timer.late() == Request::end) break;
    seen = completed.load(::cuda::memory_order_relaxed);
  }
  timer.ended();
  ::cuda::atomic_thread_fence(::cuda::memory_order_acquire, ::cuda::thread_scope_system);
  if (seen == no_more) return Failure::given_up;
  return seen < epoch ? Failure::released : Failure::none;
}

// `is_last`: this block waits for nothing more.
__device__ void wait(const Reports& reports, const Post& post, const BlockIndex& place,
                     bool is_last) {
  const Word64 epoch = threadIdx.x == 0 ? next_epoch(post) : 0;
  const auto failure = static_cast<Failure>(
      agree(threadIdx.x == 0 ? static_cast<Word64>(await(reports, post, epoch)) : 0));
  const bool failed = failure != Failure::none;
  if (is_last) let_successor_in();
  if (!failed && post.staging != nullptr && !post.sends) copy_share(post, place);
  const Arrival arrival = arrive(post, place, failed);
  if (failed && threadIdx.x == 0) fail(reports, post, failure);
  // A message of which a block has copied nothing is not there.
  if (arrival.last && !arrival.failed)
    SystemWord(post.words->done).store(epoch, ::cuda::memory_order_relaxed);
}

template <bool starts>
struct Together {
  static constexpr unsigned most_threads = relay::most_threads, resident = 0;
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
  static constexpr unsigned most_threads = relay::most_threads, resident = 0;
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
  unsigned threads = 32, blocks = 0;
  for (const Post& post : posts) {
    threads = std::max<unsigned>(threads, post.threads);
    blocks += post.blocks;
  }
  if (!starts && launch.crowded) return launch_batch<WaitInTurn>(launch, 1, threads, batch);
  return launch_batch<Together<starts>>(launch, blocks, threads, batch);
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
  const std::uint64_t blocks = (post.bytes + bytes_a_block - 1) / bytes_a_block;
  post.blocks = static_cast<std::uint16_t>(std::clamp<std::uint64_t>(blocks, 1, most_blocks));
  const std::uint64_t threads = (post.bytes / bytes_a_thread + 31) / 32 * 32;
  post.threads = static_cast<std::uint16_t>(std::clamp<std::uint64_t>(threads, 32, most_threads));
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
