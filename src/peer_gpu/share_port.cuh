// SPDX-License-Identifier: Apache-2.0
// The port of one thread to a share of a ring, for kernels of programs: any number of parts that
// lie beside each other, served by one block of any size. The state machines are those of our own
// kernels (ring_port.cuh).
#pragma once

#include "peer_gpu/device_half.hpp"
#include "peer_gpu/lines.cuh"

namespace penstock::peer_gpu {

using gpu::Order, gpu::SystemWord, gpu::order_of;
using protocol::Word;

__device__ inline unsigned thread_in_block() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
__device__ inline unsigned threads_of_block() {
  return blockDim.x * blockDim.y * blockDim.z;
}
__device__ inline unsigned block_in_grid() {
  return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
}

// A share of a message, and what one thread has of it: fixed for as long as a block serves it.
struct Share {
  // Units that a thread moves at once: more cells than two take registers, and time in every
  // message; of lines each thread has its eighth.
  __host__ __device__ static constexpr unsigned group(unsigned threads_of_unit) {
    return threads_of_unit == 1 ? 2 : 1;
  }

  unsigned first_part = 0;
  unsigned parts = 0;        // 0: there are fewer parts than blocks that serve the message
  std::uint32_t first = 0;   // unit of this thread
  std::uint32_t end = 0;     // of the share's units
  std::uint32_t stride = 1;  // to this thread's next unit
  std::uint32_t lines = 0;   // groups of units

  // That of block `index` of `count`.
  __device__ Share(const DeviceHalf& half, unsigned index, unsigned count) {
    if (index >= count) return;
    const unsigned threads = half.wide ? wide_cells : 1;
    first_part = index * half.parts / count;
    parts = (index + 1) * half.parts / count - first_part;
    first = first_part * half.part_units + thread_in_block() / threads;
    end = min(half.units, (first_part + parts) * half.part_units);
    stride = max(threads_of_block() / threads, 1u);
    lines = first >= end ? 0 : (end - first - 1) / (stride * group(threads)) + 1;
  }
};

// The form that most messages in kernels have is inlined; the others are functions of their own, as
// their registers would be each kernel's.
using PlainCells = Cells<Fit::words>;
PENSTOCK_HD inline bool is_plain(const DeviceHalf& half) {
  return half.in_words && !half.wide;
}

// `copies`: a message that comes is copied into the receive buffer; otherwise the program has taken
// it from its slot.
template <class Lines, bool receives, bool copies = true>
class SharePort {
 public:
  static constexpr bool native_atomics = true;  // a ring claims nothing
  static constexpr bool may_close = false;      // and never touches the peer's buffer
  // Only a wait of a kernel may be held up, as a start may stand in blocks that fill the GPU. So a
  // send has a wait here, and leaves nothing to its next start.
  static constexpr bool deferred = receives;

  __device__ SharePort(const DeviceHalf& half, const Share& share) : half_(half), share_(share) {}

  // FIN as it stood some time ago: it only grows, so the first look of a wait may be one that was
  // begun when the message left. Relaxed: no store is made before what was seen has been asked for.
  __device__ Word64 look_at_fin() const { return fin<Order::relaxed>(); }

  static __device__ bool any(bool value) { return Lines::any(value); }

  template <Order order>
  __device__ Word64 load(Word word) const {
    return word == Word::cts ? SystemWord(*half_.cts).load(order_of(order)) : fin<order>();
  }
  // FIN is said by as many threads as there are parts. Relaxed, though the protocol asks for a
  // release, which would wait until the peer's memory has answered all that this block has sent:
  // every load from the slot has returned what its thread then stored, and a barrier stands
  // between, so no later store can change it.
  template <Order order>
  __device__ void store(Word word, Word64 value) const {
    const unsigned thread = thread_in_block();
    if (word == Word::cts && share_.first_part == 0 && thread == 0)
      SystemWord(*half_.cts).store(value, order_of(order));
    if (word == Word::fin)
      for (unsigned i = thread; i < share_.parts; i += threads_of_block())
        SystemWord(half_.fin[share_.first_part + i]).store(value, ::cuda::memory_order_relaxed);
  }
  __device__ Word64 exchange(Word, Word64) const { return 0; }
  template <Order order>
  __device__ void fence() const {}
  __device__ static constexpr bool copy_failed() { return false; }

  __device__ void fill(unsigned, std::uint32_t line) {
#pragma unroll
    for (unsigned i = 0; i < group; ++i)
      if (const std::uint32_t unit = number(line, i); unit < share_.end)
        data_[i] = Lines::fetch(half_, position_of(unit));
  }
  __device__ void store_flag(unsigned slot, std::uint32_t line, Word64 flag) {
#pragma unroll
    for (unsigned i = 0; i < group; ++i)
      if (const std::uint32_t unit = number(line, i); unit < share_.end)
        Lines::store(cells_of(slot, unit), data_[i], flag);
  }
  // The flag that all units of the line show. Where they differ, something is set above a flag's 32
  // bits.
  __device__ Word64 load_flag(unsigned slot, std::uint32_t line) {
#pragma unroll
    for (unsigned i = 0; i < group; ++i)
      if (const std::uint32_t unit = number(line, i); unit < share_.end)
        data_[i] = Lines::load(cells_of(slot, unit));
    const Word64 flag = Lines::flag_of(data_[0]);
    Word64 differs = 0;
#pragma unroll
    for (unsigned i = 1; i < group; ++i)
      if (number(line, i) < share_.end) differs |= Lines::flag_of(data_[i]) ^ flag;
    return differs == 0 ? flag : ~Word64{0};
  }
  __device__ void drain(unsigned, std::uint32_t line) {
    if constexpr (copies)
#pragma unroll
      for (unsigned i = 0; i < group; ++i)
        if (const std::uint32_t unit = number(line, i); unit < share_.end)
          Lines::drain(half_, position_of(unit), data_[i]);
  }
  __device__ void push() {}
  __device__ void pull() {}

  __device__ static constexpr unsigned slots() {
    return ring_slots;
  }
  __device__ std::uint32_t lines() const {
    return share_.lines;
  }
  __device__ static constexpr unsigned flag_bits() {
    return PENSTOCK_FLAG_BITS;
  }
  __device__ bool checks_ready() const {
    return half_.checks_ready;
  }

 private:
  static constexpr unsigned group = Share::group(Lines::threads);

  // What FIN says of the parts that this thread looks at: of one, where there are threads enough.
  template <Order order>
  __device__ Word64 fin() const {
    Word64* const words = half_.fin + share_.first_part;
    const unsigned thread = thread_in_block();
    Word64 least = SystemWord(words[thread % share_.parts]).load(order_of(order));
    for (unsigned i = thread + threads_of_block(); i < share_.parts; i += threads_of_block())
      least = min(least, SystemWord(words[i]).load(order_of(order)));
    return least;
  }
  __device__ std::uint32_t number(std::uint32_t line, unsigned i) const {
    return share_.first + (line * group + i) * share_.stride;
  }
  __device__ Cell* cells_of(unsigned slot, std::uint32_t unit) const {
    return half_.ring + (static_cast<Word64>(slot) * half_.units + unit) * Lines::threads;
  }
  __device__ static Word64 position_of(std::uint32_t unit) {
    return static_cast<Word64>(unit) * Lines::payload;
  }

  const DeviceHalf& half_;
  const Share& share_;
  Cell data_[group];
};

}  // namespace penstock::peer_gpu
