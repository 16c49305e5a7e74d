// SPDX-License-Identifier: Apache-2.0
#include "enqueued/gpu/kernels.hpp"

#include <algorithm>

#include "gpu/kernel_batch.cuh"
#include "gpu/staged_copy.cuh"

namespace penstock::enqueued {

using gpu::BlockIndex, gpu::Failure, gpu::KernelBatch, gpu::Reports, gpu::SystemWord;

namespace {

template <int capacity>
struct CopyKernelBatch : KernelBatch<CopyWork, capacity> {
  CopyKernelBatch(const Launch& launch, const Bell& rung, std::span<const CopyWork> copies) noexcept
      : KernelBatch<CopyWork, capacity>(launch, copies), bell(rung) {}
  Bell bell;
};

// All threads': how the kernel's wait has ended.
__device__ Failure await_completion(const Reports& reports, const Bell& bell) {
  if (bell.completed == nullptr) return Failure::none;
  Failure failure = Failure::none;
  if (threadIdx.x == 0)
    failure = gpu::await_host(reports, bell.id, *bell.awaited, *bell.completed, bell.number);
  return static_cast<Failure>(gpu::agree(static_cast<Word64>(failure)));
}

// On a crowded device there is one block, which makes all copies.
template <int capacity>
__device__ void copy_all(const CopyKernelBatch<capacity>& batch) {
  if (gridDim.x == 1) {
    for (int i = 0; i < batch.count; ++i) {
      const CopyWork& copy = batch.item[i];
      gpu::copy_share(copy.to, copy.from, copy.bytes, BlockIndex{0, 1});
    }
  } else {
    BlockIndex place;
    const CopyWork& copy = gpu::item_of_block(batch, place);
    gpu::copy_share(copy.to, copy.from, copy.bytes, place);
  }
}

struct Copies {
  static constexpr unsigned most_threads = gpu::StagedCopyShape::most_threads, resident = 0;
  template <int capacity>
  static __device__ void run(const CopyKernelBatch<capacity>& batch) {
    if (batch.queue_failure->failed != 0) return;
    const Bell& bell = batch.bell;
    const Reports reports = batch.reports();
    const Failure failure = await_completion(reports, bell);
    const bool failed = failure != Failure::none;
    gpu::let_successor_in();
    if (!failed) copy_all(batch);
    const gpu::Arrival arrival = gpu::arrive(bell.arrivals, gridDim.x, failed);
    if (failed && threadIdx.x == 0 && gpu::fails_first(reports))
      gpu::report(reports, bell.id, failure);
    // Release: the copies, and what the stream did before, come before it.
    if (arrival.last && !arrival.failed && bell.tells != nullptr)
      SystemWord(*bell.tells).store(bell.number, ::cuda::memory_order_release);
  }
};

template <int capacity>
cudaError_t launch_as(const Launch& launch, const Bell& bell, std::span<const CopyWork> copies) {
  CopyKernelBatch<capacity> batch(launch, bell, copies);
  unsigned threads = 32, blocks = 0;
  for (const CopyWork& copy : copies) {
    threads = std::max<unsigned>(threads, copy.threads);
    blocks += copy.blocks;
  }
  if (launch.crowded && bell.completed != nullptr) blocks = 1;
  return gpu::launch_batch<Copies>(launch, blocks, threads, batch);
}

}  // namespace

cudaError_t launch_copies(const Launch& launch, const Bell& bell,
                          std::span<const CopyWork> copies) {
  if (copies.size() <= 1) return launch_as<1>(launch, bell, copies);
  return launch_as<largest_copy_batch>(launch, bell, copies);
}

cudaError_t load_copies(const Launch& launch) {
  for (const auto call : {&launch_as<1>, &launch_as<largest_copy_batch>})
    if (const cudaError_t code = call(launch, {}, {}); code != cudaSuccess) return code;
  return cudaStreamSynchronize(launch.stream);
}

}  // namespace penstock::enqueued
