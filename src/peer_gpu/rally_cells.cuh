// SPDX-License-Identifier: Apache-2.0
// The cells of a direct exchange, and the words of a message that they carry.
#pragma once

#include "gpu/access.cuh"
#include "gpu/word_bytes.cuh"
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

// The word of a message of `bytes` that a cell carries. A message of no bytes has a cell all the
// same.
__device__ inline Word64 load_word(const std::byte* message, std::uint64_t bytes,
                                   std::uint32_t cell, bool aligned) {
  const std::uint64_t position = cell * rally_payload;
  return position < bytes ? gpu::load_word(message + position, bytes - position, aligned) : 0;
}
__device__ inline void store_word(std::byte* message, std::uint64_t bytes, std::uint32_t cell,
                                  bool aligned, Word64 data) {
  const std::uint64_t position = cell * rally_payload;
  if (position < bytes) gpu::store_word(message + position, bytes - position, aligned, data);
}

}  // namespace penstock::peer_gpu
