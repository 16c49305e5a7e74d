// SPDX-License-Identifier: Apache-2.0
// The two forms in which a ring carries data and flags. One unit of either is moved by `threads`
// threads side by side, each of which has one cell of it.
#pragma once

#include <cstdint>

#include "gpu/access.cuh"
#include "peer_gpu/batch.hpp"

namespace penstock::peer_gpu {

using gpu::agree, gpu::load_cell, gpu::store_cell;

// How the user's buffer lies, in words of eight bytes: `words` one behind the other, `rows` so in
// each row, `any` also across gaps, or where they are not aligned. Known at match, so that kernels
// for the first two have no other code.
enum class Fit { words, rows, any };

__device__ inline std::byte* in_rows(const Pair& pair, Word64 position) {
  return pair.buffer + datatype::place_in(pair.rows, static_cast<std::uint32_t>(position)).offset;
}

// Where a word of the message begins, and how many bytes of it lie together there.
struct WordPlace {
  std::byte* address;
  Word64 together;

  __device__ bool aligned() const {
    return reinterpret_cast<std::uintptr_t>(address) % cell_payload == 0;
  }
};

__device__ inline WordPlace word_at(const Pair& pair, Word64 position) {
  const Word64 left = min(pair.bytes - position, Word64{cell_payload});
  if (!pair.rows.has_gaps()) return {pair.buffer + position, left};
  const auto place = datatype::place_in(pair.rows, static_cast<std::uint32_t>(position));
  return {pair.buffer + place.offset, min(left, Word64{place.left})};
}

// Calls visit(piece, its first bit) for what an aligned word has at the message's end, in three
// steps at most.
template <class Visit>
__device__ inline void each_of_tail(std::byte* address, Word64 count, Visit& visit) {
  if ((count & 4) != 0) visit(*reinterpret_cast<std::uint32_t*>(address), 0);
  std::byte* const behind = address + (count & 4);
  if ((count & 2) != 0) visit(*reinterpret_cast<std::uint16_t*>(behind), 8 * (count & 4));
  if ((count & 1) != 0)
    visit(*reinterpret_cast<std::uint8_t*>(behind + (count & 2)), 8 * (count & 6));
}

// The same for pieces of any word, of one size, wherever each lies.
template <class Piece, class Visit>
__device__ inline void each_piece(const Pair& pair, Word64 position, Visit& visit) {
#pragma unroll
  for (unsigned i = 0; i < cell_payload; i += sizeof(Piece))
    if (position + i < pair.bytes)
      visit(*reinterpret_cast<Piece*>(word_at(pair, position + i).address), 8 * i);
}

template <class Visit>
__device__ inline void each_apart(const Pair& pair, Word64 position, Visit& visit) {
  const Word64 alignment = reinterpret_cast<std::uintptr_t>(pair.buffer) | pair.bytes |
                           pair.rows.bytes | pair.rows.stride;
  if (alignment % sizeof(std::uint32_t) == 0)
    each_piece<std::uint32_t>(pair, position, visit);
  else
    each_piece<std::uint8_t>(pair, position, visit);
}

struct AddPiece {
  Word64 data = 0;
  template <class Piece>
  __device__ void operator()(Piece& piece, Word64 bit) {
    data |= Word64{piece} << bit;
  }
};

struct TakePiece {
  Word64 data;
  template <class Piece>
  __device__ void operator()(Piece& piece, Word64 bit) const {
    piece = static_cast<Piece>(data >> bit);
  }
};

// A call of its own: a kernel's code has to come from memory too, so what few messages need is kept
// out of the way. The other one is none, as kernels that receive have no registers to save for it.
static __device__ __noinline__ Word64 load_apart(const Pair& pair, Word64 position) {
  AddPiece add;
  each_apart(pair, position, add);
  return add.data;
}
__device__ inline void store_apart(const Pair& pair, Word64 position, Word64 data) {
  TakePiece take{data};
  each_apart(pair, position, take);
}

// Eight bytes of the message from `position` on, or what there is of them at its end.
template <Fit fit>
__device__ inline Word64 load_bytes(const Pair& pair, Word64 position) {
  if constexpr (fit == Fit::words) {
    return *reinterpret_cast<const Word64*>(pair.buffer + position);
  } else if constexpr (fit == Fit::rows) {
    return *reinterpret_cast<const Word64*>(in_rows(pair, position));
  } else {
    const WordPlace word = word_at(pair, position);
    if (!word.aligned()) return load_apart(pair, position);
    if (word.together == cell_payload) return *reinterpret_cast<const Word64*>(word.address);
    if (position + word.together < pair.bytes) return load_apart(pair, position);
    AddPiece add;
    each_of_tail(word.address, word.together, add);
    return add.data;
  }
}

template <Fit fit>
__device__ inline void store_bytes(const Pair& pair, Word64 position, Word64 data) {
  if constexpr (fit == Fit::words) {
    *reinterpret_cast<Word64*>(pair.buffer + position) = data;
  } else if constexpr (fit == Fit::rows) {
    *reinterpret_cast<Word64*>(in_rows(pair, position)) = data;
  } else {
    const WordPlace word = word_at(pair, position);
    TakePiece take{data};
    if (!word.aligned())
      store_apart(pair, position, data);
    else if (word.together == cell_payload)
      *reinterpret_cast<Word64*>(word.address) = data;
    else if (position + word.together < pair.bytes)
      store_apart(pair, position, data);
    else
      each_of_tail(word.address, word.together, take);
  }
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
