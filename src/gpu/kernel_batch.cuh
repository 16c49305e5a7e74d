// SPDX-License-Identifier: Apache-2.0
// The kernel that serves what an enqueue call has gathered: its argument, its head and its launch,
// the same for all. What it does is a Body, with static void run(batch), most_threads of a block,
// and resident: how many blocks a multiprocessor is to have registers for, 0 for what the compiler
// chooses. The relay's kernels need 72 to 77 registers with 1 and 56 to 60 with 0.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

#include "device/gpu/launch.hpp"
#include "gpu/block.cuh"
#include "gpu/launch.hpp"
#include "gpu/reports.cuh"

namespace penstock::gpu {

template <class Item, int capacity>
struct alignas(16) KernelBatch {
  Report* report = nullptr;
  QueueFailure* queue_failure = nullptr;
  int count = 0;
  Item item[capacity];

  KernelBatch(const Launch& launch, std::span<const Item> items) noexcept
      : report(launch.report),
        queue_failure(launch.queue_failure),
        count(static_cast<int>(items.size())) {
    std::copy(items.begin(), items.end(), item);
  }
  __device__ Reports reports() const { return {*report, *queue_failure}; }
};

// What a Body derives from that reads many of its arguments. The first read of each 64-byte line of
// them takes time, and a block that looks for its item reads one line after the other. So all
// threads fetch all lines side by side, while the predecessor still runs: a graph's exchange of 26
// messages went from 9.8 to 7.0 us. With few lines that takes as long as it saves.
struct FetchesArguments {
  static constexpr std::size_t least_fetched = 1024;  // bytes; a Body may say less
};
template <class Body, class Batch>
inline constexpr bool fetches_arguments = false;
template <std::derived_from<FetchesArguments> Body, class Batch>
inline constexpr bool fetches_arguments<Body, Batch> = (sizeof(Batch) > Body::least_fetched);

template <class Batch>
__device__ inline void fetch_arguments(Batch& to, const Batch& argument) {
  static_assert(sizeof(Batch) % sizeof(uint4) == 0);
  const auto* const from = reinterpret_cast<const uint4*>(&argument);
  for (unsigned i = threadIdx.x; i < sizeof(Batch) / sizeof(uint4); i += blockDim.x)
    reinterpret_cast<uint4*>(&to)[i] = vendor::load_argument(from + i);
}

template <class Body, class Batch>
__global__ void __launch_bounds__(Body::most_threads, Body::resident)
    run_batch(const __grid_constant__ Batch argument) {
  // No item: the launch has only loaded the kernel.
  if constexpr (fetches_arguments<Body, Batch>) {
    alignas(Batch) __shared__ unsigned char room[sizeof(Batch)];
    auto& batch = reinterpret_cast<Batch&>(room);
    fetch_arguments(batch, vendor::grid_constant(argument));
    await_predecessor();
    __syncthreads();
    if (batch.count != 0) Body::run(batch);
  } else {
    await_predecessor();
    const Batch& batch = vendor::grid_constant(argument);
    if (batch.count != 0) Body::run(batch);
  }
}

template <class Body, class Batch>
const void* address_of() noexcept {
  return reinterpret_cast<const void*>(&run_batch<Body, Batch>);
}

template <class Body, class Batch>
cudaError_t launch_batch(const Launch& launch, unsigned blocks, unsigned threads, Batch& batch) {
  static const device::gpu::Kernel kernel(address_of<Body, Batch>());
  return kernel.launch({std::max(blocks, 1u), threads, launch.stream, launch.dependent}, &batch);
}

// Which item block `index` serves, where each has as many blocks beside each other as it says.
template <class Item, int capacity>
__device__ const Item& item_at(const KernelBatch<Item, capacity>& batch, unsigned index,
                               BlockIndex& place) {
  int which = 0;
  place.index = index;
  for (; place.index >= batch.item[which].blocks; ++which) place.index -= batch.item[which].blocks;
  place.blocks = batch.item[which].blocks;
  return batch.item[which];
}
template <class Item, int capacity>
__device__ const Item& item_of_block(const KernelBatch<Item, capacity>& batch, BlockIndex& place) {
  return item_at(batch, blockIdx.x, place);
}

}  // namespace penstock::gpu
