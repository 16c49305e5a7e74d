// SPDX-License-Identifier: Apache-2.0
// The cells of a direct exchange, and the words of a message that they carry.
#pragma once

#include "gpu/access.cuh"
#include "peer_gpu/rally_item.hpp"

namespace penstock::peer_gpu {

// A flag has half of each word. Two words that show different ones have no flag in common: what
// flag_of says then is above its 32 bits.
inline constexpr Word64 data_half = 0xffffffff;

__device__ inline Cell flagged(Word64 data, Word64 flag) {
  return {(data & data_half) | flag << 32, data >> 32 | flag << 32};
}
__device__ inline Word64 flag_of(const Cell& cell) {
  return cell.low >> 32 | ((cell.low ^ cell.high) & ~data_half);
}
__device__ inline Word64 data_of(const Cell& cell) {
  return (cell.low & data_half) | cell.high << 32;
}

// What is not a whole word in its place, in functions that are called: the code that a thread runs
// through decides the time of small messages, as much of it is fetched anew in each kernel.
__device__ __noinline__ inline Word64 load_bytes(const std::byte* from, std::uint64_t bytes) {
  Word64 data = 0;
#pragma unroll 1
  for (unsigned i = 0; i < rally_payload && i < bytes; ++i)
    data |= static_cast<Word64>(from[i]) << 8 * i;
  return data;
}
__device__ __noinline__ inline void store_bytes(std::byte* to, std::uint64_t bytes, Word64 data) {
#pragma unroll 1
  for (unsigned i = 0; i < rally_payload && i < bytes; ++i)
    to[i] = static_cast<std::byte>(data >> 8 * i);
}

// The word of a message of `bytes` that a cell carries. The last one may be a part of a word; a
// message of no bytes has a cell all the same.
__device__ inline Word64 load_word(const std::byte* message, std::uint64_t bytes,
                                   std::uint32_t cell, bool aligned) {
  const std::uint64_t position = cell * rally_payload;
  if (aligned && position + rally_payload <= bytes)
    return *reinterpret_cast<const Word64*>(message + position);
  return position < bytes ? load_bytes(message + position, bytes - position) : 0;
}
__device__ inline void store_word(std::byte* message, std::uint64_t bytes, std::uint32_t cell,
                                  bool aligned, Word64 data) {
  const std::uint64_t position = cell * rally_payload;
  if (aligned && position + rally_payload <= bytes)
    *reinterpret_cast<Word64*>(message + position) = data;
  else if (position < bytes)
    store_bytes(message + position, bytes - position, data);
}

}  // namespace penstock::peer_gpu
