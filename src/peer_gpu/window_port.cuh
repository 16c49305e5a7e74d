// SPDX-License-Identifier: Apache-2.0
// The ports of one block to a pair of a window. What goes eagerly lies in a slot: HEAD, and behind
// it the data of the puts, one after the other, each in cells of its own.
#pragma once

#include "gpu/copy.cuh"
#include "peer_gpu/accumulate.cuh"
#include "peer_gpu/window_head.cuh"
#include "peer_gpu/window_words.cuh"

namespace penstock::peer_gpu {

// What both ends know of slots.
class WindowPort : public WindowWords {
 public:
  using WindowWords::WindowWords;
  __device__ std::uint32_t lines() const { return 1 + own_of(pair_.units); }

 protected:
  using Line = Cells<Fit::words>;
  __device__ Cell* head_of(unsigned slot) const {
    return ring_of(pair_) + static_cast<Word64>(slot) * (head_cells + pair_.units);
  }
  // A cell of data: those of a slot are shared out among the threads of either end, as many as it
  // has.
  __device__ Cell* data_of(unsigned slot, std::uint32_t number) const {
    return head_of(slot) + head_cells + number;
  }
  __device__ static std::uint32_t number_of(std::uint32_t line) {
    return (line - 1) * blockDim.x + threadIdx.x;
  }
  // Of so many cells this thread's.
  __device__ static std::uint32_t own_of(std::uint32_t cells) {
    return threadIdx.x >= cells ? 0 : (cells - threadIdx.x - 1) / blockDim.x + 1;
  }
};

// Of an origin's block. All its threads run the state machine alike; thread 0 makes each access to
// a word, and all learn what it saw.
class OriginPort : public WindowPort {
 public:
  __device__ OriginPort(const WindowItem& item, const transport::Operation* list,
                        const gpu::BlockIndex& place)
      : WindowPort(item), item_(item), list_(list), place_(place) {}

  __device__ protocol::window::Head head() const {
    if (item_.eager_cells != 0) return {own_of(item_.eager_cells), 0};
    return {0, item_.count == 0 && !item_.stored ? 0 : place_.blocks};
  }
  __device__ protocol::window::Promise promise() const { return item_.promise; }
  __device__ void fill(unsigned, std::uint32_t line) {
    if (line != 0)
      data_ = data_cell(number_of(line));
    else
      data_ = WindowHead::encode(threadIdx.x, item_.eager_cells, head().parts, list_,
                                 item_.eager_cells != 0 ? item_.count : 0u);
  }
  __device__ void store_flag(unsigned slot, std::uint32_t line, Word64 flag) {
    if (line != 0)
      Line::store(data_of(slot, number_of(line)), data_, flag);
    else if (threadIdx.x < head_cells)
      Line::store(head_of(slot) + threadIdx.x, data_, flag);
  }
  // Each block has one part. Small pieces of it go by a warp each, side by side: one after the
  // other they would each wait for memory.
  __device__ void move(std::uint32_t part) {
    if (part != place_.index) return;
    constexpr unsigned warp = 32;
    constexpr Word64 small = 64 * warp;
    unsigned turn = 0;  // the warp that has the next small piece
    Word64 offset = 0;
    const Word64 begin = part * pair_.share, end = begin + pair_.share;
    for (unsigned i = 0; i < item_.count; ++i) {
      const transport::Operation& operation = list_[i];
      std::byte* const far = pair_.other + operation.displacement;
      auto* const near = static_cast<std::byte*>(operation.origin);
      if (!is_cut(operation)) {
        __syncthreads();  // accumulates of one list in their order
        if (part == 0) accumulate(operation, far, near);
        continue;
      }
      const Word64 first = max(begin, offset), past = min(end, offset + operation.bytes);
      if (first < past) {
        const Word64 at = first - offset;
        const bool puts = operation.verb == transport::Verb::put;
        const bool all = past - first > small || blockDim.x == warp;
        if (all || threadIdx.x / warp == turn)
          gpu::copy_bytes_by(
              all ? gpu::Copier{threadIdx.x, blockDim.x} : gpu::Copier{threadIdx.x % warp, warp},
              (puts ? far : near) + at, (puts ? near : far) + at, past - first);
        if (!all) turn = turn + 1 == blockDim.x / warp ? 0 : turn + 1;
      }
      offset += operation.bytes;
    }
  }
  // One fence does for both: the part before its word, and before the look at CLOSED that follows.
  template <Order order>
  __device__ void store_part(std::uint32_t part, Word64 epoch) {
    if (part != place_.index) return;
    fence<Order::seq_cst>();
    fenced_ = true;
    if (item_.ends_epoch && threadIdx.x == 0)
      SystemWord(pair_.receiver->done[part]).store(epoch, ::cuda::memory_order_relaxed);
  }

 private:
  __device__ Cell data_cell(std::uint32_t number) const {
    for (unsigned i = 0;; ++i) {
      const std::uint32_t cells = cells_for(list_[i].bytes);
      if (number >= cells) {
        number -= cells;
        continue;
      }
      const Word64 position = static_cast<Word64>(number) * cell_payload;
      return WindowHead::cell_of(load_bytes(
          static_cast<const std::byte*>(list_[i].origin) + position, list_[i].bytes - position));
    }
  }

  const WindowItem& item_;
  const transport::Operation* const list_;
  const gpu::BlockIndex place_;
  Cell data_;
};

// Of one thread of a target's block: the state machine runs in each for its own cells and parts.
class TargetPort : public WindowPort {
 public:
  __device__ explicit TargetPort(const Pair& pair) : WindowPort(pair) {}

  static __device__ bool any(bool value) { return value; }
  // A target stores FIN alone, for which one thread speaks. Relaxed, though the protocol asks for a
  // release: the loads that come before are an earlier kernel's, and have ended with it.
  template <Order>
  __device__ void store(Word word, Word64 value) const {
    if (threadIdx.x == 0 && !(pair_.gated && peer_is_dead(pair_)))
      SystemWord(at(word)).store(value, ::cuda::memory_order_relaxed);
  }
  // This thread's first cell is fetched together with HEAD.
  __device__ Word64 load_flag(unsigned slot, std::uint32_t line) {
    if (line == 0) {
      const std::uint32_t mine = threadIdx.x;
      data_ = Line::load(data_of(slot, mine < pair_.units ? mine : 0));
      has_first_ = true;
      return head_.decode(head_of(slot));
    }
    if (line != 1 || !has_first_) data_ = Line::load(data_of(slot, number_of(line)));
    has_first_ = false;
    return Line::flag_of(data_);
  }
  __device__ protocol::window::Head read_head(unsigned) const {
    return {own_of(head_.cells), threadIdx.x < head_.parts ? 1u : 0u};
  }
  __device__ void drain(unsigned, std::uint32_t line) {
    std::uint32_t number = number_of(line);
    for (unsigned i = 0; i < most_eager_puts; ++i) {
      const std::uint32_t cells = cells_for(head_.bytes[i]);
      if (number < cells) {
        const Word64 position = static_cast<Word64>(number) * cell_payload;
        return store_bytes(pair_.buffer + head_.place[i] + position, head_.bytes[i] - position,
                           WindowHead::value_of(data_));
      }
      number -= cells;
    }
  }
  template <Order order>
  __device__ Word64 load_part(std::uint32_t) {
    return SystemWord(pair_.receiver->done[threadIdx.x]).load(order_of(order));
  }

 private:
  WindowHead head_;
  Cell data_;
  bool has_first_ = false;
};

static_assert(protocol::window::MovesOperations<OriginPort> &&
              protocol::window::MovesOperations<TargetPort>);

}  // namespace penstock::peer_gpu
