// SPDX-License-Identifier: Apache-2.0
#include "gpu/pack_kernels.hpp"

#include "datatype/place.hpp"
#include "gpu/kernel_batch.cuh"

namespace penstock::gpu {

namespace {

using datatype::Segment, datatype::SegmentView;

constexpr unsigned threads = 256;

// Where a position lies, in numbers that are no longer than the message needs: a division of 64
// bits takes many times as long as one of 32.
template <class Number>
class OneSegment {
 public:
  __device__ explicit OneSegment(const PackWork& work)
      : segment_(work.first),
        bytes_(static_cast<Number>(work.segments.bytes)),
        extent_(work.segments.extent) {}
  __device__ std::int64_t at(std::uint64_t position) const {
    const auto all = static_cast<Number>(position);
    const Number repetition = all / bytes_, rest = all - repetition * bytes_;
    const auto run_bytes = static_cast<Number>(segment_.bytes);
    const Number run = rest / run_bytes;
    return static_cast<std::int64_t>(repetition) * extent_ + segment_.offset +
           static_cast<std::int64_t>(run) * segment_.stride +
           static_cast<std::int64_t>(rest - run * run_bytes);
  }

 private:
  const Segment& segment_;
  const Number bytes_;
  const std::int64_t extent_;
};

class AnySegments {
 public:
  __device__ explicit AnySegments(const PackWork& work) : view_(work.segments) {}
  __device__ std::int64_t at(std::uint64_t position) const {
    return datatype::offset_of(view_, datatype::place_at(view_, position));
  }

 private:
  const SegmentView& view_;
};

// `ahead` words of a thread, `step` bytes apart: all are loaded before the first is stored. Nothing
// is stored if something has failed, which is known as late as that.
template <bool packs, class Word, int ahead, class Offsets>
__device__ void move_some(const PackWork& work, const Offsets& offsets, std::uint64_t position,
                          std::uint64_t step, Word64 failed) {
  Word words[ahead];
  std::int64_t found[ahead];
#pragma unroll
  for (int k = 0; k < ahead; ++k) found[k] = offsets.at(position + k * step);
#pragma unroll
  for (int k = 0; k < ahead; ++k)
    words[k] = *reinterpret_cast<const Word*>(packs ? work.buffer + found[k]
                                                    : work.room + position + k * step);
  if (failed != 0) return;
#pragma unroll
  for (int k = 0; k < ahead; ++k)
    *reinterpret_cast<Word*>(packs ? work.room + position + k * step : work.buffer + found[k]) =
        words[k];
}

// Neighbouring threads move neighbouring words.
template <bool packs, class Word, class Offsets>
__device__ void move_words(const PackWork& work, const BlockIndex& place, const Offsets& offsets,
                           Word64 failed) {
  constexpr int ahead = 4;
  const std::uint64_t step = std::uint64_t{place.blocks} * blockDim.x * sizeof(Word);
  std::uint64_t position = (std::uint64_t{place.index} * blockDim.x + threadIdx.x) * sizeof(Word);
  for (; position + (ahead - 1) * step < work.bytes; position += ahead * step)
    move_some<packs, Word, ahead>(work, offsets, position, step, failed);
  for (; position < work.bytes; position += step)
    move_some<packs, Word, 1>(work, offsets, position, step, failed);
}

template <bool packs, class Word>
__device__ void move_in(const PackWork& work, const BlockIndex& place, Word64 failed) {
  if (work.segments.segments > 1)
    move_words<packs, Word>(work, place, AnySegments(work), failed);
  else if (work.in_32_bits)
    move_words<packs, Word>(work, place, OneSegment<std::uint32_t>(work), failed);
  else
    move_words<packs, Word>(work, place, OneSegment<std::uint64_t>(work), failed);
}

template <bool packs>
struct Packing {
  static constexpr unsigned most_threads = threads, resident = 0;
  template <class Batch>
  static __device__ void run(const Batch& batch) {
    let_successor_in();  // nothing here waits
    // Behind a failure too what was packed before may still be on its way.
    const Word64 failed = batch.queue_failure->failed;
    BlockIndex place;
    const PackWork& work = item_of_block(batch, place);
    switch (work.width) {
      case 16:
        return move_in<packs, uint4>(work, place, failed);
      case 8:
        return move_in<packs, std::uint64_t>(work, place, failed);
      case 4:
        return move_in<packs, std::uint32_t>(work, place, failed);
      case 2:
        return move_in<packs, std::uint16_t>(work, place, failed);
      default:
        return move_in<packs, std::uint8_t>(work, place, failed);
    }
  }
};

template <bool packs, int capacity>
cudaError_t launch_as(const Launch& launch, std::span<const PackWork> works) {
  KernelBatch<PackWork, capacity> batch(launch, works);
  unsigned blocks = 0;
  for (const PackWork& work : works) blocks += work.blocks;
  return launch_batch<Packing<packs>>(launch, blocks, threads, batch);
}

template <bool packs>
cudaError_t launch_by_size(const Launch& launch, std::span<const PackWork> works) {
  if (works.size() <= 1) return launch_as<packs, 1>(launch, works);
  return launch_as<packs, largest_pack_batch>(launch, works);
}

template <bool packs>
cudaError_t load(const Launch& launch) {
  for (const auto call : {&launch_as<packs, 1>, &launch_as<packs, largest_pack_batch>})
    if (const cudaError_t code = call(launch, {}); code != cudaSuccess) return code;
  return cudaStreamSynchronize(launch.stream);
}

}  // namespace

cudaError_t launch_packing(const Launch& launch, std::span<const PackWork> works) {
  return launch_by_size<true>(launch, works);
}

cudaError_t launch_unpacking(const Launch& launch, std::span<const PackWork> works) {
  return launch_by_size<false>(launch, works);
}

cudaError_t load_packing(const Launch& launch) {
  return load<true>(launch);
}

cudaError_t load_unpacking(const Launch& launch) {
  return load<false>(launch);
}

}  // namespace penstock::gpu
