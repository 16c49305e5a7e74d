// SPDX-License-Identifier: Apache-2.0
// The port of one thread to one part of a ring in device memory. The protocol's lines are groups of
// units: each thread, or each set of threads that shares a unit, has its own ones, and the state
// machine runs in every thread.
#pragma once

#include "gpu/block.cuh"
#include "peer_gpu/lines.cuh"
#include "peer_gpu/peer_dead.cuh"

namespace penstock::peer_gpu {

using gpu::Order, gpu::SystemWord, gpu::order_of;
using protocol::Word;

// Each part has a range of the units, the same at both ends whatever their numbers of blocks and
// threads. `group`: units that a thread loads at once; with 1, there is a thread for each cell of
// the part.
template <class Lines, int group>
class RingPort {
 public:
  static constexpr bool native_atomics = true;  // a ring claims nothing
  // Copies go into and out of library memory, each by the end that owns the buffer: no message can
  // come from or reach a buffer in new use. A wait that is hopeless is ended by the host, which has
  // CLOSED words too (see KernelWatchdog).
  static constexpr bool may_close = false;
  static constexpr bool deferred = rings_are_deferred;

  __device__ RingPort(const Pair& pair, unsigned part)
      : pair_(pair),
        part_(part),
        first_(part * static_cast<std::uint32_t>(pair.share) + threadIdx.x / Lines::threads),
        end_(min(pair.units, (part + 1) * static_cast<std::uint32_t>(pair.share))) {}

  static __device__ bool any(bool value) { return Lines::any(value); }

  template <Order order>
  __device__ Word64 load(Word word) {
    if (word == Word::fin && has_early_fin_) {
      has_early_fin_ = false;
      return early_fin_;
    }
    return Lines::agree(SystemWord(at(word)).load(order_of(order)));
  }
  // A ring stores no other word than FIN, of which one thread speaks for all of the part. Relaxed,
  // though the protocol asks for a release: the loads that come before are an earlier kernel's, and
  // have ended with it.
  template <Order order>
  __device__ void store(Word word, Word64 value) const {
    if (threadIdx.x == 0 && !(pair_.gated && peer_is_dead(pair_)))
      SystemWord(at(word)).store(value, ::cuda::memory_order_relaxed);
  }
  __device__ Word64 exchange(Word, Word64) const { return 0; }
  template <Order order>
  __device__ void fence() const {}
  __device__ static constexpr bool copy_failed() { return false; }

  // The send buffer does not change between start and wait, so the first line may be fetched before
  // anything is known.
  __device__ void fetch() {
    if (lines() > 0) fetch(0);
  }
  // Words only grow, so a look may be taken ahead, together with others.
  __device__ void poll_fin() {
    early_fin_ = load<Order::acquire>(Word::fin);
    has_early_fin_ = true;
  }
  __device__ void fill(unsigned, std::uint32_t line) {
    if (line != fetched_) fetch(line);
  }
  // No fence before the first cell: this kernel has stored nothing before, and what earlier kernels
  // of the stream stored is complete; nor after the last one that is loaded, since only kernels
  // behind this one look at anything else.
  __device__ void store_flag(unsigned slot, std::uint32_t line, Word64 flag) {
#pragma unroll
    for (int i = 0; i < group; ++i)
      if (const std::uint32_t unit = number(line, i); unit < end_)
        Lines::store(cells_of(slot, unit), data_[i], flag);
  }
  // The flag that all units of the line show. Where they differ, something is set above a flag's 32
  // bits.
  __device__ Word64 load_flag(unsigned slot, std::uint32_t line) {
#pragma unroll
    for (int i = 0; i < group; ++i)
      if (const std::uint32_t unit = number(line, i); unit < end_)
        data_[i] = Lines::load(cells_of(slot, unit));
    const Word64 flag = Lines::flag_of(data_[0]);
    Word64 differs = 0;
#pragma unroll
    for (int i = 1; i < group; ++i)
      if (number(line, i) < end_) differs |= Lines::flag_of(data_[i]) ^ flag;
    return differs == 0 ? flag : ~Word64{0};
  }
  __device__ void drain(unsigned, std::uint32_t line) {
#pragma unroll
    for (int i = 0; i < group; ++i)
      if (const std::uint32_t unit = number(line, i); unit < end_)
        Lines::drain(pair_, position_of(unit), data_[i]);
  }
  __device__ void push() {}
  __device__ void pull() {}

  __device__ static constexpr unsigned slots() {
    return ring_slots;
  }
  __device__ std::uint32_t lines() const {
    if (first_ >= end_) return 0;
    return group == 1 ? 1 : (end_ - first_ - 1) / (stride * group) + 1;
  }
  __device__ static constexpr unsigned flag_bits() {
    return PENSTOCK_FLAG_BITS;
  }
  __device__ bool checks_ready() const {
    return pair_.checks_ready;
  }

 private:
  __device__ std::uint32_t number(std::uint32_t line, int i) const {
    return first_ + (line * group + i) * stride;
  }
  __device__ Cell* cells_of(unsigned slot, std::uint32_t unit) const {
    return ring_of(pair_) + (static_cast<Word64>(slot) * pair_.units + unit) * Lines::threads;
  }
  __device__ static Word64 position_of(std::uint32_t unit) {
    return static_cast<Word64>(unit) * Lines::payload;
  }
  __device__ void fetch(std::uint32_t line) {
    fetched_ = line;
#pragma unroll
    for (int i = 0; i < group; ++i)
      if (const std::uint32_t unit = number(line, i); unit < end_)
        data_[i] = Lines::fetch(pair_, position_of(unit));
  }
  __device__ Word64& at(Word word) const {
    // A ring uses no other words.
    return word == Word::cts ? pair_.sender->cts : pair_.sender->fin[part_];
  }

  static constexpr std::uint32_t nothing = ~std::uint32_t{0};
  // Who has several units is in a block of the largest size (shape.cpp).
  static constexpr std::uint32_t stride = most_threads / Lines::threads;

  const Pair& pair_;
  unsigned part_;
  Word64 early_fin_ = 0;
  bool has_early_fin_ = false;
  std::uint32_t first_;  // unit of this thread
  std::uint32_t end_;    // of the part's units
  std::uint32_t fetched_ = nothing;
  Cell data_[group];
};

}  // namespace penstock::peer_gpu
