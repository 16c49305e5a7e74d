// SPDX-License-Identifier: Apache-2.0
// A copy by the threads of one block, in the widest steps that both addresses allow.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::gpu {

// Several loads of each thread are under way at once: a step waits for memory, not a byte.
template <class Unit>
__device__ inline void copy_units(Unit* to, const Unit* from, std::uint64_t count) {
  constexpr int ahead = 8;
  std::uint64_t i = threadIdx.x;
  for (; i + (ahead - 1) * std::uint64_t{blockDim.x} < count;
       i += ahead * std::uint64_t{blockDim.x}) {
    Unit unit[ahead];
#pragma unroll
    for (int k = 0; k < ahead; ++k) unit[k] = from[i + k * std::uint64_t{blockDim.x}];
#pragma unroll
    for (int k = 0; k < ahead; ++k) to[i + k * std::uint64_t{blockDim.x}] = unit[k];
  }
  for (; i < count; i += blockDim.x) to[i] = from[i];
}

// Head and tail byte by byte, what lies between in Units.
template <class Unit>
__device__ inline void copy_aligned(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  const std::uint64_t past = reinterpret_cast<std::uintptr_t>(to) % sizeof(Unit);
  std::uint64_t head = past == 0 ? 0 : sizeof(Unit) - past;
  if (head > bytes) head = bytes;
  const std::uint64_t units = (bytes - head) / sizeof(Unit);
  const std::uint64_t tail = head + units * sizeof(Unit);
  if (threadIdx.x < head) to[threadIdx.x] = from[threadIdx.x];
  copy_units(reinterpret_cast<Unit*>(to + head), reinterpret_cast<const Unit*>(from + head), units);
  if (tail + threadIdx.x < bytes) to[tail + threadIdx.x] = from[tail + threadIdx.x];
}

// A call of its own: the registers of its loads would otherwise be taken from the code around it.
// Static: several kernels of ours have one each.
static __device__ __noinline__ void copy_bytes(std::byte* to, const std::byte* from,
                                               std::uint64_t bytes) {
  const auto apart = reinterpret_cast<std::uintptr_t>(to) ^ reinterpret_cast<std::uintptr_t>(from);
  if (apart % sizeof(uint4) == 0)
    copy_aligned<uint4>(to, from, bytes);
  else if (apart % sizeof(std::uint64_t) == 0)
    copy_aligned<std::uint64_t>(to, from, bytes);
  else if (apart % sizeof(std::uint32_t) == 0)
    copy_aligned<std::uint32_t>(to, from, bytes);
  else
    copy_units(to, from, bytes);
}

}  // namespace penstock::gpu
