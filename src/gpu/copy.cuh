// SPDX-License-Identifier: Apache-2.0
// A copy by the threads of one block, or by some of them, in the widest steps that both addresses
// allow.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::gpu {

// Thread `index` of the `threads` that copy.
struct Copier {
  unsigned index;
  unsigned threads;
};

// Several loads of each thread are under way at once: a step waits for memory, not a byte. The end
// is a loop: with its loads at once, too, which takes more code, pieces of 16 KiB took 1 us longer.
template <class Unit>
__device__ inline void copy_units(Unit* to, const Unit* from, std::uint64_t count,
                                  const Copier& copier) {
  constexpr int ahead = 8;
  const std::uint64_t step = copier.threads;
  std::uint64_t i = copier.index;
  for (; i + (ahead - 1) * step < count; i += ahead * step) {
    Unit unit[ahead];
#pragma unroll
    for (int k = 0; k < ahead; ++k) unit[k] = from[i + k * step];
#pragma unroll
    for (int k = 0; k < ahead; ++k) to[i + k * step] = unit[k];
  }
  for (; i < count; i += step) to[i] = from[i];
}

// Head and tail byte by byte, what lies between in Units.
template <class Unit>
__device__ inline void copy_aligned(std::byte* to, const std::byte* from, std::uint64_t bytes,
                                    const Copier& copier) {
  const std::uint64_t past = reinterpret_cast<std::uintptr_t>(to) % sizeof(Unit);
  std::uint64_t head = past == 0 ? 0 : sizeof(Unit) - past;
  if (head > bytes) head = bytes;
  const std::uint64_t units = (bytes - head) / sizeof(Unit);
  const std::uint64_t tail = head + units * sizeof(Unit);
  const unsigned i = copier.index;
  if (i < head) to[i] = from[i];
  copy_units(reinterpret_cast<Unit*>(to + head), reinterpret_cast<const Unit*>(from + head), units,
             copier);
  if (tail + i < bytes) to[tail + i] = from[tail + i];
}

// A call of its own: the registers of its loads would otherwise be taken from the code around it.
// Static: several kernels of ours have one each.
static __device__ __noinline__ void copy_bytes_by(const Copier copier, std::byte* to,
                                                  const std::byte* from, std::uint64_t bytes) {
  const auto apart = reinterpret_cast<std::uintptr_t>(to) ^ reinterpret_cast<std::uintptr_t>(from);
  if (apart % sizeof(uint4) == 0)
    copy_aligned<uint4>(to, from, bytes, copier);
  else if (apart % sizeof(std::uint64_t) == 0)
    copy_aligned<std::uint64_t>(to, from, bytes, copier);
  else if (apart % sizeof(std::uint32_t) == 0)
    copy_aligned<std::uint32_t>(to, from, bytes, copier);
  else
    copy_units(to, from, bytes, copier);
}

// By all threads of the block.
__device__ inline void copy_bytes(std::byte* to, const std::byte* from, std::uint64_t bytes) {
  copy_bytes_by({threadIdx.x, blockDim.x}, to, from, bytes);
}

}  // namespace penstock::gpu
