// SPDX-License-Identifier: Apache-2.0
// The two forms in which a ring carries data and flags. One unit of either is moved by `threads`
// threads side by side, each of which has one cell of it.
#pragma once

#include "gpu/access.cuh"
#include "peer_gpu/half_words.hpp"
#include "peer_gpu/message_words.hpp"

namespace penstock::peer_gpu {

using gpu::load_cell, gpu::store_cell;

// A unit is one cell: data and flag in each of its two words.
template <Fit fit>
struct Cells {
  static constexpr unsigned threads = 1;
  static constexpr std::size_t payload = cell_payload;

  // For all threads of a unit: one of their values, and whether one of them is true.
  static __device__ Word64 agree(Word64 value) { return value; }
  static __device__ bool any(bool value) { return value; }

  // `position`: of the unit's first byte in the message.
  template <class Message>
  static __device__ Cell fetch(const Message& message, Word64 position) {
    const Word64 data = load_word<fit>(message, position);
    return {data & half, data >> 32};
  }
  template <class Message>
  static __device__ void drain(const Message& message, Word64 position, Cell cell) {
    store_word<fit>(message, position, (cell.low & half) | cell.high << 32);
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
  template <class Message>
  static __device__ Cell fetch(const Message& message, Word64 position) {
    Cell data{};
    if (has_word(message, position, 0)) data.low = load_word<fit>(message, position + at(0));
    if (has_word(message, position, 1)) data.high = load_word<fit>(message, position + at(1));
    return data;
  }
  template <class Message>
  static __device__ void drain(const Message& message, Word64 position, Cell data) {
    if (has_word(message, position, 0)) store_word<fit>(message, position + at(0), data.low);
    if (has_word(message, position, 1)) store_word<fit>(message, position + at(1), data.high);
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
  template <class Message>
  static __device__ bool has_word(const Message& message, Word64 position, unsigned which) {
    return !(which == 1 && has_flag()) && position + at(which) < message.bytes;
  }
  static __device__ unsigned together() {
    constexpr unsigned warp = 32;
    return ((1u << threads) - 1) << (threadIdx.x % warp / threads * threads);
  }
};

}  // namespace penstock::peer_gpu
