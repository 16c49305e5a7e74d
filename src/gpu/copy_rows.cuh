// SPDX-License-Identifier: Apache-2.0
// A copy by the threads of one block between buffers of which one at least has gaps.
#pragma once

#include <cstddef>
#include <cstdint>

#include "datatype/rows.hpp"

namespace penstock::gpu {

// A message where it lies, with gaps or without.
template <class Byte>
struct RowBuffer {
  Byte* buffer;
  datatype::Rows rows;

  __device__ Byte* at(std::uint32_t position) const {
    return buffer + (rows.has_gaps() ? datatype::offset_in(rows, position) : position);
  }
};

// Neighbouring threads move neighbouring words; each has several loads under way.
template <class Word>
__device__ void copy_words(const RowBuffer<std::byte>& to, const RowBuffer<const std::byte>& from,
                           std::uint32_t begin, std::uint32_t end) {
  constexpr std::uint32_t ahead = 4;
  const std::uint32_t step = blockDim.x * sizeof(Word);
  std::uint32_t position = begin + threadIdx.x * sizeof(Word);
  for (; position + (ahead - 1) * step < end; position += ahead * step) {
    Word words[ahead];
#pragma unroll
    for (std::uint32_t k = 0; k < ahead; ++k)
      words[k] = *reinterpret_cast<const Word*>(from.at(position + k * step));
#pragma unroll
    for (std::uint32_t k = 0; k < ahead; ++k)
      *reinterpret_cast<Word*>(to.at(position + k * step)) = words[k];
  }
  for (; position < end; position += step)
    *reinterpret_cast<Word*>(to.at(position)) = *reinterpret_cast<const Word*>(from.at(position));
}

// `bytes` of the message from `begin` on. A call of its own, as copy_bytes is.
static __device__ __noinline__ void copy_rows(RowBuffer<std::byte> to,
                                              RowBuffer<const std::byte> from, std::uint64_t begin,
                                              std::uint64_t bytes) {
  const auto first = static_cast<std::uint32_t>(begin);
  const auto end = static_cast<std::uint32_t>(begin + bytes);
  const std::uint64_t alignment = datatype::alignment_of(to.buffer, begin | bytes, to.rows) |
                                  datatype::alignment_of(from.buffer, 0, from.rows);
  if (alignment % sizeof(uint4) == 0)
    copy_words<uint4>(to, from, first, end);
  else if (alignment % sizeof(std::uint64_t) == 0)
    copy_words<std::uint64_t>(to, from, first, end);
  else if (alignment % sizeof(std::uint32_t) == 0)
    copy_words<std::uint32_t>(to, from, first, end);
  else
    copy_words<std::byte>(to, from, first, end);
}

}  // namespace penstock::gpu
