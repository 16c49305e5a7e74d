// SPDX-License-Identifier: Apache-2.0
// The two forms in which a ring carries data and flags. One unit of either is moved by `threads`
// threads side by side, each of which has one cell of it.
#pragma once

#include <cstdint>
#include <type_traits>

#include "gpu/access.cuh"
#include "peer_gpu/batch.hpp"

namespace penstock::peer_gpu {

using gpu::agree, gpu::load_cell, gpu::store_cell;

// How the user's buffer lies, in words of eight bytes: `words` one behind the other, `rows` so in
// each row, `any` also across gaps, or where they are not aligned. Known at match, so that kernels
// for the first two have no other code.
enum class Fit { words, rows, any };

// A byte of the message.
template <Fit fit>
__device__ inline std::byte* address_of(const Pair& pair, Word64 position) {
  if (fit == Fit::words || (fit == Fit::any && !pair.rows.has_gaps()))
    return pair.buffer + position;
  return pair.buffer + datatype::place_in(pair.rows, static_cast<std::uint32_t>(position)).offset;
}

// Whether the eight bytes from `position` on lie together at `address`.
__device__ inline bool is_whole_word(const Pair& pair, Word64 position, const std::byte* address) {
  if (reinterpret_cast<std::uintptr_t>(address) % cell_payload != 0) return false;
  if (position + cell_payload > pair.bytes) return false;
  return !pair.rows.has_gaps() ||
         datatype::place_in(pair.rows, static_cast<std::uint32_t>(position)).left >= cell_payload;
}

// Whether pieces of four bytes lie together, and are aligned.
__device__ inline bool has_halves(const Pair& pair) {
  return (reinterpret_cast<std::uintptr_t>(pair.buffer) | pair.bytes | pair.rows.bytes |
          pair.rows.stride) %
             sizeof(std::uint32_t) ==
         0;
}

// Calls visit(piece, its first bit) for each piece of a word, or what there is of them at the
// message's end. All loads are under way before the first is used.
template <class Piece, class Visit>
__device__ inline void each_piece(const Pair& pair, Word64 position, Visit visit) {
#pragma unroll
  for (unsigned i = 0; i < cell_payload; i += sizeof(Piece))
    if (position + i < pair.bytes)
      visit(*reinterpret_cast<Piece*>(address_of<Fit::any>(pair, position + i)), 8 * i);
}

// Eight bytes of the message from `position` on, or what there is of them at its end.
template <Fit fit>
__device__ inline Word64 load_bytes(const Pair& pair, Word64 position) {
  const std::byte* const from = address_of<fit>(pair, position);
  if (fit != Fit::any || is_whole_word(pair, position, from))
    return *reinterpret_cast<const Word64*>(from);
  Word64 data = 0;
  const auto add = [&](const auto piece, unsigned bit) { data |= Word64{piece} << bit; };
  if (has_halves(pair))
    each_piece<const std::uint32_t>(pair, position, add);
  else
    each_piece<const std::uint8_t>(pair, position, add);
  return data;
}

template <Fit fit>
__device__ inline void store_bytes(const Pair& pair, Word64 position, Word64 data) {
  std::byte* const to = address_of<fit>(pair, position);
  if (fit != Fit::any || is_whole_word(pair, position, to)) {
    *reinterpret_cast<Word64*>(to) = data;
    return;
  }
  const auto take = [&](auto& piece, unsigned bit) {
    piece = static_cast<std::remove_reference_t<decltype(piece)>>(data >> bit);
  };
  if (has_halves(pair))
    each_piece<std::uint32_t>(pair, position, take);
  else
    each_piece<std::uint8_t>(pair, position, take);
}

// A unit is one cell: data and flag in each of its two words.
template <Fit fit>
struct Cells {
  static constexpr unsigned threads = 1;
  static constexpr std::size_t payload = cell_payload;

  // For all threads of a unit: one of their values, and whether one of them is true.
  static __device__ Word64 agree(Word64 value) { return value; }
  static __device__ bool any(bool value) { return value; }

  // `position`: of the unit's first byte in the message.
  static __device__ Cell fetch(const Pair& pair, Word64 position) {
    const Word64 data = load_bytes<fit>(pair, position);
    return {data & half, data >> 32};
  }
  static __device__ void drain(const Pair& pair, Word64 position, Cell cell) {
    store_bytes<fit>(pair, position, (cell.low & half) | cell.high << 32);
  }

  static __device__ void store(Cell* unit, Cell data, Word64 flag) {
    store_cell(unit, {data.low | flag << 32, data.high | flag << 32});
  }
  static __device__ Cell load(const Cell* unit) { return load_cell(unit); }
  // The flag; it has something above a flag's 32 bits unless both words show the same.
  static __device__ Word64 flag_of(Cell cell) {
    return cell.low >> 32 | ((cell.low ^ cell.high) & ~half);
  }

 private:
  static constexpr Word64 half = 0xffffffff;
};

// A unit is a line of 128 bytes: 15 words of data, and the flag in the last one. That data and flag
// are seen together is not in the memory model: it holds where the eight threads' accesses are one
// transaction, on this chip and on the way to it. So they must reach the instruction together, and
// all that they do before depends on values that all have.
template <Fit fit>
struct WideLines {
  static constexpr unsigned threads = wide_cells;
  static constexpr std::size_t payload = wide_payload;

  static __device__ Word64 agree(Word64 value) {
    return __shfl_sync(together(), value, 0, threads);
  }
  static __device__ bool any(bool value) { return __any_sync(together(), value) != 0; }

  // Thread i has words i and i + 8, so that neighbouring threads load neighbouring words.
  static __device__ Cell fetch(const Pair& pair, Word64 position) {
    Cell data{};
    if (has_word(pair, position, 0)) data.low = load_bytes<fit>(pair, position + at(0));
    if (has_word(pair, position, 1)) data.high = load_bytes<fit>(pair, position + at(1));
    return data;
  }
  static __device__ void drain(const Pair& pair, Word64 position, Cell data) {
    if (has_word(pair, position, 0)) store_bytes<fit>(pair, position + at(0), data.low);
    if (has_word(pair, position, 1)) store_bytes<fit>(pair, position + at(1), data.high);
  }

  static __device__ void store(Cell* unit, Cell data, Word64 flag) {
    if (has_flag()) data.high = flag;
    __syncwarp(together());
    store_cell(unit + rank(), data);
  }
  static __device__ Cell load(const Cell* unit) {
    __syncwarp(together());
    return load_cell(unit + rank());
  }
  static __device__ Word64 flag_of(Cell cell) {
    return __shfl_sync(together(), cell.high, threads - 1, threads);
  }

 private:
  static __device__ unsigned rank() { return threadIdx.x % threads; }
  static __device__ bool has_flag() { return rank() == threads - 1; }
  static __device__ unsigned at(unsigned which) {
    return (rank() + which * threads) * sizeof(Word64);
  }
  // Of the two words of this thread's cell the second one may be the flag.
  static __device__ bool has_word(const Pair& pair, Word64 position, unsigned which) {
    return !(which == 1 && has_flag()) && position + at(which) < pair.bytes;
  }
  static __device__ unsigned together() {
    constexpr unsigned warp = 32;
    return ((1u << threads) - 1) << (threadIdx.x % warp / threads * threads);
  }
};

}  // namespace penstock::peer_gpu
