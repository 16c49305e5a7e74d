// SPDX-License-Identifier: Apache-2.0
#include "gpu/pack_kernels.hpp"

#include <algorithm>

#include "datatype/place.hpp"
#include "gpu/kernel_batch.cuh"

namespace penstock::gpu {

namespace {

using datatype::Segment, datatype::SegmentView;
using Batch = KernelBatch<PackWork, largest_pack_batch>;

constexpr unsigned threads = 256;

// Where a position lies, in numbers that are no longer than the message needs: a division of 64
// bits takes many times as long as one of 32.
template <class Number>
class OneSegment {
 public:
  __device__ explicit OneSegment(const SegmentView& view)
      : segment_(view.list[0]), bytes_(static_cast<Number>(view.bytes)), extent_(view.extent) {}
  __device__ std::int64_t offset(std::uint64_t position) const {
    const auto at = static_cast<Number>(position);
    const Number repetition = at / bytes_, rest = at - repetition * bytes_;
    const auto run_bytes = static_cast<Number>(segment_.bytes);
    const Number run = rest / run_bytes;
    return static_cast<std::int64_t>(repetition) * extent_ + segment_.offset +
           static_cast<std::int64_t>(run) * segment_.stride +
           static_cast<std::int64_t>(rest - run * run_bytes);
  }

 private:
  const Segment segment_;
  const Number bytes_;
  const std::int64_t extent_;
};

class AnySegments {
 public:
  __device__ explicit AnySegments(const SegmentView& view) : view_(view) {}
  __device__ std::int64_t offset(std::uint64_t position) const {
    return datatype::offset_of(view_, datatype::place_at(view_, position));
  }

 private:
  const SegmentView& view_;
};

template <bool packs, class Unit>
__device__ void move_unit(const PackWork& work, std::uint64_t position, std::int64_t offset) {
  Unit* const packed = reinterpret_cast<Unit*>(work.packed + position);
  Unit* const in_buffer = reinterpret_cast<Unit*>(work.buffer + offset);
  if constexpr (packs)
    *packed = *in_buffer;
  else
    *in_buffer = *packed;
}

// Neighbouring threads move neighbouring units; several offsets of each are found at once, as a
// list lies in memory.
template <bool packs, class Unit, class Places>
__device__ void move_units(const PackWork& work, const BlockIndex& place, const Places& places) {
  constexpr int ahead = 4;
  const std::uint64_t step = std::uint64_t{place.blocks} * blockDim.x * sizeof(Unit);
  std::uint64_t position = (std::uint64_t{place.index} * blockDim.x + threadIdx.x) * sizeof(Unit);
  for (; position + (ahead - 1) * step < work.bytes; position += ahead * step) {
    Unit units[ahead];
    std::int64_t offsets[ahead];
#pragma unroll
    for (int k = 0; k < ahead; ++k) offsets[k] = places.offset(position + k * step);
#pragma unroll
    for (int k = 0; k < ahead; ++k)
      units[k] = *reinterpret_cast<const Unit*>(packs ? work.buffer + offsets[k]
                                                      : work.packed + position + k * step);
#pragma unroll
    for (int k = 0; k < ahead; ++k)
      *reinterpret_cast<Unit*>(packs ? work.packed + position + k * step
                                     : work.buffer + offsets[k]) = units[k];
  }
  for (; position < work.bytes; position += step)
    move_unit<packs, Unit>(work, position, places.offset(position));
}

template <bool packs, class Unit>
__device__ void move_in(const PackWork& work, const BlockIndex& place) {
  if (work.segments.segments > 1)
    move_units<packs, Unit>(work, place, AnySegments(work.segments));
  else if (work.in_32_bits)
    move_units<packs, Unit>(work, place, OneSegment<std::uint32_t>(work.segments));
  else
    move_units<packs, Unit>(work, place, OneSegment<std::uint64_t>(work.segments));
}

template <bool packs>
struct Packing {
  static constexpr unsigned most_threads = threads, resident = 0;
  template <class Argument>
  static __device__ void run(const Argument& batch) {
    let_successor_in();  // nothing here waits
    if (batch.queue_failure->failed != 0) return;
    BlockIndex place;
    const PackWork& work = item_of_block(batch, place);
    switch (work.unit) {
      case 16:
        return move_in<packs, uint4>(work, place);
      case 8:
        return move_in<packs, std::uint64_t>(work, place);
      case 4:
        return move_in<packs, std::uint32_t>(work, place);
      case 2:
        return move_in<packs, std::uint16_t>(work, place);
      default:
        return move_in<packs, std::uint8_t>(work, place);
    }
  }
};

template <bool packs>
cudaError_t launch_as(const Launch& launch, std::span<const PackWork> works) {
  Batch batch(launch, works);
  unsigned blocks = 0;
  for (const PackWork& work : works) blocks += work.blocks;
  return launch_batch<Packing<packs>>(launch, blocks, threads, batch);
}

}  // namespace

cudaError_t launch_packing(const Launch& launch, std::span<const PackWork> works) {
  return launch_as<true>(launch, works);
}

cudaError_t launch_unpacking(const Launch& launch, std::span<const PackWork> works) {
  return launch_as<false>(launch, works);
}

cudaError_t load_pack_kernels(const Launch& launch) {
  for (const auto call : {&launch_packing, &launch_unpacking})
    if (const cudaError_t code = call(launch, {}); code != cudaSuccess) return code;
  return cudaStreamSynchronize(launch.stream);
}

}  // namespace penstock::gpu
