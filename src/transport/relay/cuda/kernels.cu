// SPDX-License-Identifier: Apache-2.0
#include "transport/relay/cuda/kernels.hpp"

#include <algorithm>

#include "device/cuda/launch.hpp"
#include "transport/cuda/block.cuh"
#include "transport/cuda/copy.cuh"
#include "transport/cuda/patience.cuh"
#include "transport/cuda/reports.cuh"

namespace penstock::transport::relay::cuda {
namespace {

using namespace transport::cuda;

constexpr std::uint64_t bytes_a_thread = 16;
constexpr std::uint64_t bytes_a_block = 64 * 1024;
constexpr unsigned most_blocks = 8;
constexpr unsigned most_threads = 512;

template <int capacity>
struct Batch {
  Report* report = nullptr;
  Sticky* sticky = nullptr;
  int count = 0;
  Post post[capacity];
};

__device__ void fail(const Reports& reports, const Post& post, Failure why) {
  if (fails_first(reports)) report(reports, post.id, why);
}

__device__ void copy_share(const Post& post, const Place& place) {
  const std::uint64_t share =
      ((post.bytes + place.blocks - 1) / place.blocks + device_line - 1) / device_line * device_line;
  const std::uint64_t begin = place.index * share;
  if (begin >= post.bytes) return;
  std::byte* const to = (post.sends ? post.staging : post.buffer) + begin;
  const std::byte* const from = (post.sends ? post.buffer : post.staging) + begin;
  copy_bytes(to, from, min(share, post.bytes - begin));
}

// True in one thread: thread 0 of the block that gets here last, when all that the blocks did before has been done, as
// the host sees it too.
__device__ bool arrives_last(const Post& post, const Place& place) {
  __syncthreads();
  if (threadIdx.x != 0) return false;
  if (place.blocks == 1) return true;
  ::cuda::atomic_thread_fence(::cuda::memory_order_acq_rel, ::cuda::thread_scope_system);
  DeviceWord arrivals(*post.arrivals);
  if (arrivals.fetch_add(1, ::cuda::memory_order_acq_rel) + 1 != place.blocks) return false;
  arrivals.store(0, ::cuda::memory_order_relaxed);  // for the next kernel
  ::cuda::atomic_thread_fence(::cuda::memory_order_acq_rel, ::cuda::thread_scope_system);
  return true;
}

// The epoch of the start or wait that runs. Thread 0's: it lies in the host's memory.
__device__ Word64 next_epoch(const Post& post) {
  return SystemWord(post.words->done).load(::cuda::memory_order_relaxed) + 1;
}

__device__ void start(const Reports& reports, const Post& post, const Place& place) {
  let_successor_in();  // a start waits for nobody
  SystemWord started(post.words->started);
  Word64 epoch = 0;
  bool twice = false;
  if (threadIdx.x == 0) {
    epoch = next_epoch(post);
    // By a graph without the wait. After a failure the wait has ended without its epoch, and the next one says why.
    twice = started.load(::cuda::memory_order_relaxed) >= epoch &&
            SystemWord(post.words->completed).load(::cuda::memory_order_relaxed) != given_up;
  }
  if (post.staging != nullptr && post.sends) copy_share(post, place);
  if (!arrives_last(post, place)) return;
  if (twice)
    fail(reports, post, Failure::started_twice);
  else
    // Release: the copy, and what the stream did before, come before the message.
    started.store(epoch, ::cuda::memory_order_release);
}

// Thread 0's: looks until the relay has written the epoch.
__device__ Failure await(const Reports& reports, const Post& post, Word64 epoch) {
  SystemWord completed(post.words->completed);
  Patience patience(reports, post.id, epoch);
  Word64 seen = completed.load(::cuda::memory_order_relaxed);
  for (unsigned looks = 1; seen < epoch; ++looks) {
    if (looks % Patience::looks_between == 0 && patience.late() == Request::end) break;
    seen = completed.load(::cuda::memory_order_relaxed);
  }
  patience.ended();
  ::cuda::atomic_thread_fence(::cuda::memory_order_acquire, ::cuda::thread_scope_system);
  if (seen == given_up) return Failure::given_up;
  return seen < epoch ? Failure::released : Failure::none;
}

__device__ void wait(const Reports& reports, const Post& post, const Place& place) {
  const Word64 epoch = threadIdx.x == 0 ? next_epoch(post) : 0;
  const auto failure =
      static_cast<Failure>(agree(threadIdx.x == 0 ? static_cast<Word64>(await(reports, post, epoch)) : 0));
  let_successor_in();
  if (failure == Failure::none && post.staging != nullptr && !post.sends) copy_share(post, place);
  if (!arrives_last(post, place)) {
    if (failure != Failure::none && threadIdx.x == 0) fail(reports, post, failure);
    return;
  }
  if (failure != Failure::none)
    fail(reports, post, failure);
  else
    SystemWord(post.words->done).store(epoch, ::cuda::memory_order_relaxed);
}

template <int capacity>
__device__ const Post& find(const Batch<capacity>& batch, Place& place) {
  int which = 0;
  place.index = blockIdx.x;
  for (; place.index >= batch.post[which].blocks; ++which) place.index -= batch.post[which].blocks;
  place.blocks = batch.post[which].blocks;
  return batch.post[which];
}

template <bool starts, int capacity>
__global__ void __launch_bounds__(most_threads) run(const __grid_constant__ Batch<capacity> argument) {
  await_predecessor();
  const Batch<capacity>& batch = gpu::grid_constant(argument);
  if (batch.count == 0 || batch.sticky->failed != 0) return;
  Place place;
  const Post& post = find(batch, place);
  const Reports reports{*batch.report, *batch.sticky};
  if constexpr (starts)
    start(reports, post, place);
  else
    wait(reports, post, place);
}

template <bool starts, int capacity>
cudaError_t launch_as(const Launch& launch, std::span<const Post> posts) {
  Batch<capacity> batch;
  batch.report = launch.report;
  batch.sticky = launch.sticky;
  batch.count = static_cast<int>(posts.size());
  std::copy(posts.begin(), posts.end(), batch.post);
  unsigned threads = 32, blocks = 0;
  for (const Post& post : posts) {
    threads = std::max<unsigned>(threads, post.threads);
    blocks += post.blocks;
  }
  static const device::cuda::Kernel kernel(reinterpret_cast<const void*>(&run<starts, capacity>));
  return kernel.launch({std::max(blocks, 1u), threads, launch.stream, launch.dependent}, &batch);
}

template <bool starts>
cudaError_t launch_batch(const Launch& launch, std::span<const Post> posts) {
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
  return launch_batch<true>(launch, posts);
}

cudaError_t launch_waits(const Launch& launch, std::span<const Post> posts) {
  return launch_batch<false>(launch, posts);
}

cudaError_t load_kernels(const Launch& launch) {
  for (const auto call :
       {&launch_as<true, 1>, &launch_as<true, largest_batch>, &launch_as<false, 1>, &launch_as<false, largest_batch>})
    if (const cudaError_t code = call(launch, {}); code != cudaSuccess) return code;
  return cudaStreamSynchronize(launch.stream);
}

}  // namespace penstock::transport::relay::cuda
