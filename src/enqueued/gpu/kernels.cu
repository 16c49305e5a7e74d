// SPDX-License-Identifier: Apache-2.0
#include "enqueued/gpu/kernels.hpp"

#include "gpu/kernel_batch.cuh"
#include "gpu/staged_copy.cuh"

namespace penstock::enqueued {

using gpu::BlockIndex, gpu::Failure, gpu::KernelBatch, gpu::Reports, gpu::SystemWord;

namespace {

template <int capacity>
struct CopyKernelBatch : KernelBatch<CopyWork, capacity> {
  CopyKernelBatch(const Launch& launch, const BundleStep& its_step,
                  std::span<const CopyWork> copies) noexcept
      : KernelBatch<CopyWork, capacity>(launch, copies), step(its_step) {}
  BundleStep step;
};

// A message may be shorter than its receive. Where each thread copies one unit at most, it asks for
// that before thread 0's answer is here, how much has come: either takes a way across the bus. One
// thread asks alone, since the reads of one word stand in a row there.
__device__ void copy_received(const CopyWork& copy, const BlockIndex& place) {
  const auto addresses =
      reinterpret_cast<std::uintptr_t>(copy.to) | reinterpret_cast<std::uintptr_t>(copy.from);
  const bool in_units = place.blocks == 1 && addresses % sizeof(uint4) == 0 &&
                        copy.bytes <= blockDim.x * sizeof(uint4);
  const std::uint64_t begin = threadIdx.x * sizeof(uint4);
  uint4 unit{};
  if (in_units && begin < copy.bytes) unit = *reinterpret_cast<const uint4*>(copy.from + begin);
  SystemWord received(const_cast<Word64&>(*copy.received));
  const std::uint64_t end = min(
      gpu::agree(threadIdx.x == 0 ? received.load(::cuda::memory_order_relaxed) : 0), copy.bytes);
  if (!in_units) return gpu::copy_share(copy.to, copy.from, end, place);
  if (begin + sizeof(uint4) <= end) {
    *reinterpret_cast<uint4*>(copy.to + begin) = unit;
  } else {
    const auto* const bytes = reinterpret_cast<const std::byte*>(&unit);
    for (std::uint64_t i = begin; i < end; ++i) copy.to[i] = bytes[i - begin];
  }
}

__device__ void copy_one(const CopyWork& copy, const BlockIndex& place) {
  if (copy.received != nullptr)
    copy_received(copy, place);
  else
    gpu::copy_share(copy.to, copy.from, copy.bytes, place);
}

// On a crowded device there is one block, which makes all copies.
template <int capacity>
__device__ void copy_all(const CopyKernelBatch<capacity>& batch) {
  if (gridDim.x == 1) {
    for (int i = 0; i < batch.count; ++i) copy_one(batch.item[i], BlockIndex{0, 1});
  } else {
    BlockIndex place;
    const CopyWork& copy = gpu::item_of_block(batch, place);
    copy_one(copy, place);
  }
}

// All threads': how what the kernel waits for has ended.
__device__ Failure await(const Reports& reports, const BundleStep& step) {
  Failure failure = Failure::none;
  if (step.wait_for != nullptr)
    failure = gpu::await_host(reports, step.id, *step.say_waiting, *step.wait_for, step.number);
  if (failure == Failure::none && step.besides != nullptr)
    failure =
        gpu::await_host(reports, step.id, *step.say_waiting, *step.besides, step.besides_number);
  return failure;
}

// All blocks of a kernel come to its end, whatever fails, so that the last one knows that none
// copies any more.
struct Copies {
  static constexpr unsigned most_threads = gpu::StagedCopyShape::most_threads, resident = 0;
  template <int capacity>
  static __device__ void run(const CopyKernelBatch<capacity>& batch) {
    const BundleStep& step = batch.step;
    const Reports reports = batch.reports();
    const bool before = gpu::agree(threadIdx.x == 0 ? batch.queue_failure->failed : 0) != 0;
    const Failure failure = before ? Failure::none : await(reports, step);
    const bool failed = before || failure != Failure::none;
    gpu::let_successor_in();
    if (!failed) copy_all(batch);
    const gpu::Arrival arrival = gpu::arrive(step.arrivals, gridDim.x, failed);
    if (failure != Failure::none && threadIdx.x == 0) gpu::report_first(reports, step.id, failure);
    if (!arrival.last) return;
    // Release: the copies, and what the stream did before, come before it.
    Word64* const told = arrival.failed ? step.on_failure : step.then_set;
    if (told != nullptr) SystemWord(*told).store(step.number, ::cuda::memory_order_release);
  }
};

template <int capacity>
cudaError_t launch_as(const Launch& launch, const BundleStep& step,
                      std::span<const CopyWork> copies) {
  CopyKernelBatch<capacity> batch(launch, step, copies);
  gpu::StagedGrid grid = gpu::grid_of(copies);
  if (launch.crowded && step.wait_for != nullptr) grid.blocks = 1;
  return gpu::launch_batch<Copies>(launch, grid.blocks, grid.threads, batch);
}

}  // namespace

cudaError_t launch_copies(const Launch& launch, const BundleStep& step,
                          std::span<const CopyWork> copies) {
  if (copies.size() <= 1) return launch_as<1>(launch, step, copies);
  return launch_as<largest_copy_batch>(launch, step, copies);
}

cudaError_t load_copies(const Launch& launch) {
  for (const auto call : {&launch_as<1>, &launch_as<largest_copy_batch>})
    if (const cudaError_t code = call(launch, {}, {}); code != cudaSuccess) return code;
  return cudaStreamSynchronize(launch.stream);
}

}  // namespace penstock::enqueued
