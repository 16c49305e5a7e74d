// SPDX-License-Identifier: Apache-2.0
#include "gpu/step_kernels.hpp"

#include <cstring>

#include "gpu/kernel_batch.cuh"
#include "gpu/word_bytes.cuh"
#include "transport/word_sum.hpp"

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

// In their order, which decides the bits: the first is the left one.
__device__ const std::byte* const* values_of(const StepWork& work) {
  return work.list != nullptr ? work.list : work.from;
}

// As many elements as a thread takes at a time, in a word that one instruction loads.
template <class T, class Word>
struct Elements {
  static constexpr int count = sizeof(Word) / sizeof(T);
  T value[count];

  __device__ explicit Elements(const std::byte* from) {
    const Word word = *reinterpret_cast<const Word*>(from);
    memcpy(value, &word, sizeof word);
  }
  __device__ void store(std::byte* to) const {
    Word word;
    memcpy(&word, value, sizeof word);
    *reinterpret_cast<Word*>(to) = word;
  }
};

template <class T, class Word>
__device__ void add_words(const StepWork& work, const BlockIndex& place, const Range& range) {
  const std::byte* const* const values = values_of(work);
  each_word(place, range, sizeof(Word), [&](std::uint64_t at) {
    Elements<T, Word> result(values[0] + at);
    transport::Wide<T> sum[result.count];
    for (int k = 0; k < result.count; ++k) sum[k] = transport::widen(result.value[k]);
    for (std::uint32_t i = 1; i < work.values; ++i) {
      const Elements<T, Word> next(values[i] + at);
      for (int k = 0; k < result.count; ++k)
        sum[k] = transport::reduce(Reduction::sum, sum[k], transport::widen(next.value[k]));
    }
    for (int k = 0; k < result.count; ++k) result.value[k] = transport::narrow<T>(sum[k]);
    result.store(work.to + at);
  });
}

// Sums of what lies aligned.
template <class T>
__device__ void add(const StepWork& work, const BlockIndex& place) {
  if (work.width < sizeof(uint4)) return add_words<T, T>(work, place, {0, work.bytes});
  const std::uint64_t whole = work.bytes / sizeof(uint4) * sizeof(uint4);
  add_words<T, uint4>(work, place, {0, whole});
  add_words<T, T>(work, place, {whole, work.bytes});
}

// Every operation on every type.
__device__ void combine_any(const StepWork& work, const BlockIndex& place) {
  const std::byte* const* const values = values_of(work);
  const bool aligned = work.width >= sizeof(Word64);
  each_word(place, {0, work.bytes}, sizeof(std::uint64_t), [&](std::uint64_t at) {
    const std::uint64_t bytes = work.bytes - at;
    const auto load = [&](std::uint32_t i) { return load_word(values[i] + at, bytes, aligned); };
    transport::WordSum sum = transport::first_word(work.combination, load(0));
    for (std::uint32_t i = 1; i < work.values; ++i)
      sum = transport::next_of_any(work.combination, sum, load(i));
    store_word(work.to + at, bytes, aligned, transport::last_word(work.combination, sum));
  });
}

__device__ void combine(const StepWork& work, const BlockIndex& place) {
  const auto [reduction, element] = work.combination;
  if (reduction != Reduction::sum || work.width < transport::bytes_of(element))
    return combine_any(work, place);
  switch (element) {
    case Element::int32:
    case Element::uint32:
      return add<std::uint32_t>(work, place);
    case Element::int64:
    case Element::uint64:
      return add<std::uint64_t>(work, place);
    case Element::float16:
      return add<transport::Float16>(work, place);
    case Element::bfloat16:
      return add<transport::BFloat16>(work, place);
    case Element::float32:
      return add<float>(work, place);
    case Element::float64:
      return add<double>(work, place);
    default:
      return combine_any(work, place);
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
