// SPDX-License-Identifier: Apache-2.0
#include "gpu/step_kernels.hpp"

#include <cstring>

#include "gpu/kernel_batch.cuh"
#include "transport/reduce.hpp"

namespace penstock::gpu {

namespace {

using transport::Element, transport::Reduction;

constexpr unsigned threads = 256;

struct Range {
  std::uint64_t begin, end;  // bytes
};

// Calls visit(position) for each word of the range that is this thread's; neighbouring threads have
// neighbouring words.
template <class Visit>
__device__ void each_word(const BlockIndex& place, const Range& range, std::size_t word,
                          Visit visit) {
  const std::uint64_t step = std::uint64_t{place.blocks} * blockDim.x * word;
  const std::uint64_t first = std::uint64_t{place.index} * blockDim.x + threadIdx.x;
  for (std::uint64_t at = range.begin + first * word; at < range.end; at += step) visit(at);
}

// ---- Moves

template <class Word>
__device__ void move_words(const StepWork& work, const BlockIndex& place) {
  const auto* const from = work.from[0];
  const auto move = [&](std::uint64_t at, std::uint64_t to) {
    *reinterpret_cast<Word*>(work.to + to) = *reinterpret_cast<const Word*>(from + at);
  };
  const Range all{0, work.bytes};
  if (work.run == work.bytes)
    return each_word(place, all, sizeof(Word), [&](std::uint64_t at) { move(at, at); });
  each_word(place, all, sizeof(Word), [&](std::uint64_t at) {
    const std::uint64_t number = at / work.run, row = number / work.columns;
    const std::uint64_t column = number - row * work.columns;
    move(at, (column * work.rows + row) * work.run + (at - number * work.run));
  });
}

__device__ void move(const StepWork& work, const BlockIndex& place) {
  switch (work.width) {
    case 16:
      return move_words<uint4>(work, place);
    case 8:
      return move_words<std::uint64_t>(work, place);
    case 4:
      return move_words<std::uint32_t>(work, place);
    case 2:
      return move_words<std::uint16_t>(work, place);
    default:
      return move_words<std::uint8_t>(work, place);
  }
}

// ---- Combinations

// As many elements as a thread takes at a time, in a word that one instruction loads; byte by byte
// where elements lie at any address.
template <class T, class Word>
struct Elements {
  static constexpr int count = sizeof(Word) / sizeof(T);
  T value[count];

  __device__ void load(const std::byte* from) {
    const Word word = *reinterpret_cast<const Word*>(from);
    memcpy(value, &word, sizeof word);
  }
  __device__ void store(std::byte* to) const {
    Word word;
    memcpy(&word, value, sizeof word);
    *reinterpret_cast<Word*>(to) = word;
  }
};
template <class T>
struct Anywhere {
  unsigned char byte[sizeof(T)];
};

// The first of the values is the left one: their order decides the bits.
template <class T, class Word>
__device__ void combine_words(const StepWork& work, const BlockIndex& place, const Range& range) {
  const std::byte* const* const values = work.list != nullptr ? work.list : work.from;
  each_word(place, range, sizeof(Word), [&](std::uint64_t at) {
    Elements<T, Word> result, next;
    result.load(values[0] + at);
    for (std::uint32_t i = 1; i < work.values; ++i) {
      next.load(values[i] + at);
      for (int k = 0; k < result.count; ++k)
        result.value[k] = transport::reduce(work.reduction, result.value[k], next.value[k]);
    }
    result.store(work.to + at);
  });
}

template <class T>
__device__ void combine(const StepWork& work, const BlockIndex& place) {
  const Range all{0, work.bytes};
  if (work.width < sizeof(T)) return combine_words<T, Anywhere<T>>(work, place, all);
  if (work.width < sizeof(uint4)) return combine_words<T, T>(work, place, all);
  const std::uint64_t whole = work.bytes / sizeof(uint4) * sizeof(uint4);
  combine_words<T, uint4>(work, place, {0, whole});
  combine_words<T, T>(work, place, {whole, work.bytes});
}

__device__ void combine(const StepWork& work, const BlockIndex& place) {
  switch (work.element) {
    case Element::int32:
      return combine<std::int32_t>(work, place);
    case Element::uint32:
      return combine<std::uint32_t>(work, place);
    case Element::int64:
      return combine<std::int64_t>(work, place);
    case Element::uint64:
      return combine<std::uint64_t>(work, place);
    case Element::float32:
      return combine<float>(work, place);
    case Element::float64:
      return combine<double>(work, place);
  }
}

struct Steps {
  static constexpr unsigned most_threads = threads, resident = 0;
  template <class Batch>
  static __device__ void run(const Batch& batch) {
    let_successor_in();  // nothing here waits
    // What has not come is not combined, and nothing stale is sent on.
    if (batch.queue_failure->failed != 0) return;
    BlockIndex place;
    const StepWork& work = item_of_block(batch, place);
    if (work.values == 1)
      move(work, place);
    else
      combine(work, place);
  }
};

template <int capacity>
cudaError_t launch_as(const Launch& launch, std::span<const StepWork> works) {
  KernelBatch<StepWork, capacity> batch(launch, works);
  unsigned blocks = 0;
  for (const StepWork& work : works) blocks += work.blocks;
  return launch_batch<Steps>(launch, blocks, threads, batch);
}

}  // namespace

cudaError_t launch_local_steps(const Launch& launch, std::span<const StepWork> works) {
  if (works.size() <= 1) return launch_as<1>(launch, works);
  return launch_as<static_cast<int>(largest_step_batch)>(launch, works);
}

cudaError_t load_local_steps(const Launch& launch) {
  for (const auto call : {&launch_as<1>, &launch_as<static_cast<int>(largest_step_batch)>})
    if (const cudaError_t code = call(launch, {}); code != cudaSuccess) return code;
  return cudaStreamSynchronize(launch.stream);
}

}  // namespace penstock::gpu
