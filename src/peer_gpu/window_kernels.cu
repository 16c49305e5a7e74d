// SPDX-License-Identifier: Apache-2.0
#include "peer_gpu/window_kernels.hpp"

#include <algorithm>

#include "gpu/kernel_batch.cuh"
#include "peer_gpu/shape.hpp"
#include "peer_gpu/window_work.cuh"

namespace penstock::peer_gpu {
using gpu::BlockIndex, gpu::KernelBatch, gpu::item_at, gpu::launch_batch;

namespace {

// A launch costs the more the more arguments it carries.
template <int ends, int operations>
struct Batch : KernelBatch<WindowItem, ends> {
  Operation operation[operations];

  Batch(const Launch& launch, std::span<const WindowItem> items, std::span<const Operation> list)
      : KernelBatch<WindowItem, ends>(launch, items) {
    std::copy(list.begin(), list.end(), operation);
  }
};

struct AllStay : gpu::FetchesArguments {
  static constexpr unsigned most_threads = peer_gpu::most_threads, resident = 1;
  template <class Batch>
  static __device__ void run(const Batch& batch) {
    BlockIndex place;
    const WindowItem& item = item_at(batch, blockIdx.x, place);
    Crew<Form::all_stay> crew;
    serve_window(batch.reports(), item, batch.operation, place, crew);
  }
};

// Each block has one duty after the other.
struct OneStays {
  static constexpr unsigned most_threads = peer_gpu::most_threads, resident = 1;
  template <class Batch>
  static __device__ void run(const Batch& batch) {
    Crew<Form::one_stays> crew(batch.item[0]);
    do {
      BlockIndex place;
      const WindowItem& item = item_at(batch, crew.duty(), place);
      serve_window(batch.reports(), item, batch.operation, place, crew);
    } while (crew.goes_on());
  }
};

// What a part of an origin's has, once its blocks are known.
void cut_in_parts(WindowItem& item, std::span<const Operation> list) {
  std::uint64_t bytes = 0;
  for (const Operation& operation : list.subspan(item.first, item.count))
    if (is_cut(operation)) bytes += operation.bytes;
  item.share = share_of(Path::window, bytes, item.blocks);
}

template <int ends, int operations>
cudaError_t launch_as(const Launch& launch, std::span<const WindowItem> items,
                      std::span<const Operation> list) {
  Batch<ends, operations> batch(launch, items, list);
  const std::span shared(batch.item, items.size());
  const auto waits = [](const WindowItem& item) { return item.call != WindowCall::post; };
  unsigned blocks = share_out(shared, most_window_parts, waits);
  unsigned threads = 32;
  for (WindowItem& item : shared) {
    blocks += item.call == WindowCall::post;
    threads = std::max<unsigned>(threads, item.threads);
    if (item.call == WindowCall::complete) cut_in_parts(item, list);
  }
  return launch.crowded ? launch_batch<OneStays>(launch, blocks, threads, batch)
                        : launch_batch<AllStay>(launch, blocks, threads, batch);
}

constexpr int few_ends = 4, few_operations = 4, some_operations = 32;

}  // namespace

cudaError_t launch_windows(const Launch& launch, std::span<const WindowItem> ends,
                           std::span<const Operation> operations) {
  if (ends.size() > few_ends || operations.size() > some_operations)
    return launch_as<largest_batch, most_operations>(launch, ends, operations);
  return operations.size() <= few_operations
             ? launch_as<few_ends, few_operations>(launch, ends, operations)
             : launch_as<few_ends, some_operations>(launch, ends, operations);
}

cudaError_t load_window_kernels(const Launch& launch) {
  for (const bool crowded : {false, true}) {
    Launch form = launch;
    form.crowded = crowded;
    for (const auto load :
         {&launch_as<few_ends, few_operations>, &launch_as<few_ends, some_operations>,
          &launch_as<largest_batch, most_operations>})
      if (const cudaError_t code = load(form, {}, {}); code != cudaSuccess) return code;
  }
  return cudaStreamSynchronize(launch.stream);
}

}  // namespace penstock::peer_gpu
