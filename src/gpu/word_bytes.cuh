// SPDX-License-Identifier: Apache-2.0
// Eight bytes of memory as a word, at any address; the last ones of a buffer may be fewer.
#pragma once

#include <cstddef>
#include <gpu_runtime.hpp>

#include "gpu/words.hpp"

namespace penstock::gpu {

// What is not a whole word in its place, in functions that are called: the code that a thread runs
// through decides the time of small messages, as much of it is fetched anew in each kernel.
__device__ __noinline__ inline Word64 load_bytes(const std::byte* from, std::uint64_t bytes) {
  Word64 data = 0;
#pragma unroll 1
  for (unsigned i = 0; i < sizeof data && i < bytes; ++i)
    data |= static_cast<Word64>(from[i]) << 8 * i;
  return data;
}
__device__ __noinline__ inline void store_bytes(std::byte* to, std::uint64_t bytes, Word64 data) {
#pragma unroll 1
  for (unsigned i = 0; i < sizeof data && i < bytes; ++i)
    to[i] = static_cast<std::byte>(data >> 8 * i);
}

// `bytes` are left of the buffer; `aligned`: the address is a multiple of eight.
__device__ inline Word64 load_word(const std::byte* from, std::uint64_t bytes, bool aligned) {
  if (aligned && bytes >= sizeof(Word64)) return *reinterpret_cast<const Word64*>(from);
  return load_bytes(from, bytes);
}
__device__ inline void store_word(std::byte* to, std::uint64_t bytes, bool aligned, Word64 data) {
  if (aligned && bytes >= sizeof data)
    *reinterpret_cast<Word64*>(to) = data;
  else
    store_bytes(to, bytes, data);
}

}  // namespace penstock::gpu
