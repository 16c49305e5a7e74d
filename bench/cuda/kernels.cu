// SPDX-License-Identifier: Apache-2.0
#include "kernels.hpp"

#include <algorithm>

namespace penstock::bench {
namespace {

constexpr unsigned threads = 256;

__device__ std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

__device__ std::byte expected(unsigned sender, std::uint64_t message, std::uint64_t at) {
  const std::uint64_t word = mix(mix(sender + 1) ^ mix(message * 2 + 1) + at / 8);
  return static_cast<std::byte>(word >> (8 * (at % 8)));
}

__global__ void copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  const std::size_t first = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  const std::size_t stride = gridDim.x * std::size_t{blockDim.x};
  const std::size_t words = bytes / sizeof(uint4);
  for (std::size_t i = first; i < words; i += stride)
    reinterpret_cast<uint4*>(to)[i] = reinterpret_cast<const uint4*>(from)[i];
  for (std::size_t i = words * sizeof(uint4) + first; i < bytes; i += stride) to[i] = from[i];
}

template <bool gathers, class Unit>
__global__ void move_rows(Unit* rows, Unit* packed, std::size_t units, std::uint32_t row_units,
                          std::size_t gap_units) {
  const std::size_t stride = gridDim.x * std::size_t{blockDim.x};
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < units; i += stride) {
    const auto row = static_cast<std::uint32_t>(i) / row_units;
    Unit& in_rows = rows[i + row * gap_units];
    if constexpr (gathers)
      packed[i] = in_rows;
    else
      in_rows = packed[i];
  }
}

__global__ void fill(std::byte* data, std::size_t bytes, unsigned sender, const CheckTally* tally) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < bytes;
       i += gridDim.x * blockDim.x)
    data[i] = expected(sender, tally->filled, i);
}

__global__ void check(const std::byte* data, std::size_t bytes, unsigned sender,
                      CheckTally* tally) {
  unsigned long long wrong = 0;
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < bytes;
       i += gridDim.x * blockDim.x)
    wrong += data[i] != expected(sender, tally->checked, i) ? 1 : 0;
  if (wrong != 0) atomicAdd(&tally->wrong_bytes, wrong);
}

__global__ void count(unsigned long long* counter) {
  ++*counter;
}

unsigned blocks_for(std::size_t bytes) {
  const std::size_t blocks = (bytes + threads * sizeof(uint4) - 1) / (threads * sizeof(uint4));
  return static_cast<unsigned>(blocks < 1 ? 1 : blocks > 256 ? 256 : blocks);
}

template <bool gathers, class Unit>
void enqueue_rows_by(cudaStream_t stream, std::byte* rows, std::byte* packed, std::size_t bytes,
                     const Layout& layout) {
  const std::size_t units = bytes / sizeof(Unit);
  const std::size_t blocks = std::min<std::size_t>((units + threads - 1) / threads, 1024);
  move_rows<gathers><<<static_cast<unsigned>(blocks), threads, 0, stream>>>(
      reinterpret_cast<Unit*>(rows), reinterpret_cast<Unit*>(packed), units,
      static_cast<std::uint32_t>(layout.row / sizeof(Unit)), layout.gap / sizeof(Unit));
}

// In the widest steps that rows allow.
template <bool gathers>
void enqueue_rows(cudaStream_t stream, std::byte* rows, std::byte* packed, std::size_t bytes,
                  const Layout& layout) {
  const std::size_t both = layout.row | layout.gap;
  const auto enqueue = both % sizeof(uint4) == 0 ? &enqueue_rows_by<gathers, uint4>
                       : both % sizeof(std::uint64_t) == 0
                           ? &enqueue_rows_by<gathers, std::uint64_t>
                           : &enqueue_rows_by<gathers, std::byte>;
  enqueue(stream, rows, packed, bytes, layout);
}

}  // namespace

void enqueue_copy(cudaStream_t stream, std::byte* to, const std::byte* from, std::size_t bytes) {
  copy<<<blocks_for(bytes), threads, 0, stream>>>(to, from, bytes);
}

void enqueue_gather(cudaStream_t stream, std::byte* to, std::byte* rows, std::size_t bytes,
                    const Layout& layout) {
  enqueue_rows<true>(stream, rows, to, bytes, layout);
}

void enqueue_scatter(cudaStream_t stream, std::byte* rows, std::byte* from, std::size_t bytes,
                     const Layout& layout) {
  enqueue_rows<false>(stream, rows, from, bytes, layout);
}

void enqueue_fill(cudaStream_t stream, std::byte* data, std::size_t bytes, unsigned sender,
                  CheckTally* tally) {
  fill<<<blocks_for(bytes), threads, 0, stream>>>(data, bytes, sender, tally);
  count<<<1, 1, 0, stream>>>(&tally->filled);
}

void enqueue_check(cudaStream_t stream, const std::byte* data, std::size_t bytes, unsigned sender,
                   CheckTally* tally) {
  check<<<blocks_for(bytes), threads, 0, stream>>>(data, bytes, sender, tally);
  count<<<1, 1, 0, stream>>>(&tally->checked);
}

}  // namespace penstock::bench
