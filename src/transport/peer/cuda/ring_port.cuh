// SPDX-License-Identifier: Apache-2.0
// The port of one thread to one part of a ring in device memory. The protocol's lines are groups of cells: each thread
// has its own ones, and the state machine runs in every thread.
#pragma once

#include "transport/peer/cuda/access.cuh"
#include "transport/peer/cuda/block.cuh"

namespace penstock::transport::peer::cuda {

using protocol::Word;

// Eight bytes of the message, or what there is of them at its end.
__device__ inline Word64 load_bytes(const std::byte* from, std::uint64_t count) {
  if (count >= cell_payload && reinterpret_cast<std::uintptr_t>(from) % cell_payload == 0)
    return *reinterpret_cast<const Word64*>(from);
  Word64 data = 0;
  for (unsigned i = 0; i < cell_payload && i < count; ++i) data |= static_cast<Word64>(from[i]) << (8 * i);
  return data;
}

__device__ inline void store_bytes(std::byte* to, Word64 data, std::uint64_t count) {
  if (count >= cell_payload && reinterpret_cast<std::uintptr_t>(to) % cell_payload == 0) {
    *reinterpret_cast<Word64*>(to) = data;
    return;
  }
  for (unsigned i = 0; i < cell_payload && i < count; ++i) to[i] = static_cast<std::byte>(data >> (8 * i));
}

// Each part has a range of the cells, the same at both ends whatever their numbers of blocks and threads. `group`:
// cells that a thread loads at once; with 1, there is a thread for each cell of the part.
template <int group>
class RingPort {
 public:
  static constexpr bool native_atomics = true;  // a ring claims nothing
  // Copies go into and out of library memory, each by the end that owns the buffer: no message can come from or reach a
  // buffer in new use. A wait that is hopeless is ended by the host, which has CLOSED words too (see Watch).
  static constexpr bool may_close = false;

  __device__ RingPort(const Pair& pair, unsigned part)
      : pair_(pair),
        part_(part),
        cells_(cells_for(pair.bytes)),
        first_(part * pair.share + threadIdx.x),
        end_(min(cells_, (part + 1) * pair.share)),
        lines_(first_ >= end_ ? 0
               : group == 1   ? 1
                              : static_cast<std::uint32_t>(end_ - first_ - 1) / (blockDim.x * group) + 1) {}

  template <Order order>
  __device__ Word64 load(Word word) {
    if (word == Word::fin && has_early_fin_) {
      has_early_fin_ = false;
      return early_fin_;
    }
    return SystemWord(at(word)).load(order_of(order));
  }
  // FIN is not a thread's to say: see wait_ring_receive.
  template <Order order>
  __device__ void store(Word word, Word64 value) const {
    if (word != Word::fin) SystemWord(at(word)).store(value, order_of(order));
  }
  __device__ Word64 exchange(Word, Word64) const { return 0; }
  template <Order order>
  __device__ void fence() const {}
  __device__ static constexpr bool copy_failed() { return false; }

  // The send buffer does not change between start and wait, so the first line may be fetched before anything is known.
  __device__ void fetch() {
    if (lines_ > 0) fetch(0);
  }
  // Words only grow, so a look may be taken ahead, together with others.
  __device__ void look_at_fin() {
    early_fin_ = load<Order::acquire>(Word::fin);
    has_early_fin_ = true;
  }
  __device__ void fill(unsigned, std::uint32_t line) {
    if (line != fetched_) fetch(line);
  }
  // No fence before the first cell: this kernel has stored nothing before, and what earlier kernels of the stream
  // stored is complete; nor after the last one that is loaded, since only kernels behind this one look at anything
  // else.
  __device__ void store_flag(unsigned slot, std::uint32_t line, Word64 flag) {
#pragma unroll
    for (int i = 0; i < group; ++i)
      if (const Word64 cell = number(line, i); cell < end_) store_cell(slot_at(slot) + cell, data_[i], flag);
  }
  // The flag that all cells of the line show in both halves, or none that a line can have.
  __device__ Word64 load_flag(unsigned slot, std::uint32_t line) {
    constexpr Word64 none = Word64{1} << 32;
    Word64 flag = none;
    bool same = true;
#pragma unroll
    for (int i = 0; i < group; ++i) {
      const Word64 cell = number(line, i);
      if (cell >= end_) continue;
      const Cell value = load_cell(slot_at(slot) + cell);
      if (i == 0) flag = value.low >> 32;
      same = same && value.low >> 32 == flag && value.high >> 32 == flag;
      data_[i] = (value.low & 0xffffffffu) | value.high << 32;
    }
    return same ? flag : none;
  }
  __device__ void drain(unsigned, std::uint32_t line) {
#pragma unroll
    for (int i = 0; i < group; ++i)
      if (const Word64 cell = number(line, i); cell < end_)
        store_bytes(pair_.buffer + cell * cell_payload, data_[i], pair_.bytes - cell * cell_payload);
  }
  __device__ void push() {}
  __device__ void pull() {}

  __device__ static constexpr unsigned slots() {
    return ring_slots;
  }
  __device__ std::uint32_t lines() const {
    return lines_;
  }
  __device__ static constexpr unsigned flag_bits() {
    return PENSTOCK_FLAG_BITS;
  }
  __device__ bool checks_ready() const {
    return pair_.checks_ready;
  }

 private:
  __device__ Word64 number(std::uint32_t line, int i) const {
    return first_ + (static_cast<Word64>(line) * group + i) * blockDim.x;
  }
  __device__ Cell* slot_at(unsigned slot) const {
    return pair_.cells + slot * cells_;
  }
  __device__ void fetch(std::uint32_t line) {
    fetched_ = line;
#pragma unroll
    for (int i = 0; i < group; ++i)
      if (const Word64 cell = number(line, i); cell < end_)
        data_[i] = load_bytes(pair_.buffer + cell * cell_payload, pair_.bytes - cell * cell_payload);
  }
  __device__ Word64& at(Word word) const {
    return word == Word::cts ? pair_.sender->cts : pair_.sender->fin[part_];  // a ring uses no other
  }

  static constexpr std::uint32_t nothing = ~std::uint32_t{0};

  const Pair& pair_;
  unsigned part_;
  Word64 early_fin_ = 0;
  bool has_early_fin_ = false;
  Word64 cells_;
  Word64 first_;  // of this thread
  Word64 end_;    // of the part
  std::uint32_t lines_;
  std::uint32_t fetched_ = nothing;
  Word64 data_[group];
};

}  // namespace penstock::transport::peer::cuda
