// SPDX-License-Identifier: Apache-2.0
// The ports of one block to a pair of a window. What goes eagerly lies in a slot: HEAD, a line of
// eight cells,
//   cells of data, how many puts | parts | of each put: where to | its bytes
// and behind it the data of the puts, one after the other, each in cells of its own.
#pragma once

#include "gpu/copy.cuh"
#include "peer_gpu/accumulate.cuh"
#include "peer_gpu/lines.cuh"
#include "peer_gpu/window_item.hpp"
#include "protocol/window.hpp"

namespace penstock::peer_gpu {

using gpu::Order, gpu::SystemWord, gpu::order_of;
using protocol::Word;

// The words, which are all that an end needs that closes.
class WindowPort {
 public:
  static constexpr bool native_atomics = true;  // it claims nothing
  static constexpr bool may_close = true;
  static constexpr bool deferred = rings_are_deferred;

  __device__ explicit WindowPort(const Pair& pair) : pair_(pair) {}

  template <Order order>
  __device__ Word64 load(Word word) {
    if (const unsigned bit = 1u << static_cast<unsigned>(word); (known_ & bit) != 0) {
      known_ &= ~bit;
      return word == Word::cts ? cts_ : word == Word::fin ? fin_ : closed_;
    }
    return agree(threadIdx.x == 0 ? SystemWord(at(word)).load(order_of(order)) : 0);
  }
  template <Order order>
  __device__ void store(Word word, Word64 value) const {
    __syncthreads();  // what the other threads have done comes before a release
    if (threadIdx.x == 0 && peer_is_there(pair_))
      SystemWord(at(word)).store(value, order_of(order));
  }
  __device__ Word64 exchange(Word, Word64) const { return 0; }
  template <Order order>
  __device__ void fence() {
    if (fenced_) return;
    __syncthreads();
    if (threadIdx.x == 0) ::cuda::atomic_thread_fence(order_of(order), ::cuda::thread_scope_system);
  }
  // Of an origin: its words, as it found them when it began. Words only grow, so looks may be taken
  // ahead, together.
  __device__ void know(Word64 cts, Word64 fin, Word64 receiver_closed) {
    cts_ = cts;
    fin_ = fin;
    closed_ = receiver_closed;
    known_ = 1u << static_cast<unsigned>(Word::cts) | 1u << static_cast<unsigned>(Word::fin) |
             1u << static_cast<unsigned>(Word::receiver_closed);
  }
  __device__ static constexpr bool copy_failed() { return false; }
  __device__ static constexpr unsigned slots() { return ring_slots; }
  __device__ std::uint32_t lines() const { return 1 + own_of(pair_.units); }
  __device__ static constexpr unsigned flag_bits() { return PENSTOCK_FLAG_BITS; }
  __device__ static constexpr bool checks_ready() { return false; }
  __device__ void push() {}
  __device__ void pull() {}
  __device__ void fill(unsigned, std::uint32_t) {}
  __device__ void drain(unsigned, std::uint32_t) {}
  __device__ Word64 load_flag(unsigned, std::uint32_t) { return 0; }
  __device__ void store_flag(unsigned, std::uint32_t, Word64) {}
  __device__ protocol::window::Head head() const { return {}; }
  __device__ protocol::window::Head read_head(unsigned) const { return {}; }
  __device__ void move(std::uint32_t) {}
  template <Order>
  __device__ void store_part(std::uint32_t, Word64) {}
  template <Order>
  __device__ Word64 load_part(std::uint32_t) {
    return 0;
  }

 protected:
  using Line = Cells<Fit::words>;
  __device__ Cell* head_of(unsigned slot) const {
    return ring_of(pair_) + static_cast<Word64>(slot) * (wide_cells + pair_.units);
  }
  // A cell of data: those of a slot are shared out among the threads of either end, as many as it
  // has.
  __device__ Cell* data_of(unsigned slot, std::uint32_t number) const {
    return head_of(slot) + wide_cells + number;
  }
  __device__ static std::uint32_t number_of(std::uint32_t line) {
    return (line - 1) * blockDim.x + threadIdx.x;
  }
  // Of so many cells this thread's.
  __device__ static std::uint32_t own_of(std::uint32_t cells) {
    return threadIdx.x >= cells ? 0 : (cells - threadIdx.x - 1) / blockDim.x + 1;
  }
  __device__ Word64& at(Word word) const {
    switch (word) {
      case Word::cts:
        return pair_.sender->cts;
      case Word::fin:
        return pair_.sender->fin[0];
      case Word::receiver_closed:
        return pair_.sender->closed;
      default:
        return pair_.receiver->closed;
    }
  }

  const Pair& pair_;
  bool fenced_ = false;

 private:
  unsigned known_ = 0;  // a bit a word
  Word64 cts_ = 0, fin_ = 0, closed_ = 0;
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
    return {0, item_.count == 0 ? 0 : place_.blocks};
  }
  __device__ void fill(unsigned, std::uint32_t line) {
    data_ = line == 0 ? head_cell() : data_cell(number_of(line));
  }
  __device__ void store_flag(unsigned slot, std::uint32_t line, Word64 flag) {
    if (line != 0)
      Line::store(data_of(slot, number_of(line)), data_, flag);
    else if (threadIdx.x < wide_cells)
      Line::store(head_of(slot) + threadIdx.x, data_, flag);
  }
  // Each block has one part.
  __device__ void move(std::uint32_t part) {
    if (part != place_.index) return;
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
        gpu::copy_bytes((puts ? far : near) + at, (puts ? near : far) + at, past - first);
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
    if (item_.ends && threadIdx.x == 0)
      SystemWord(pair_.receiver->done[part]).store(epoch, ::cuda::memory_order_relaxed);
  }

 private:
  __device__ static Cell cell_of(Word64 value) {
    return {static_cast<std::uint32_t>(value), value >> 32};
  }
  // Of HEAD, which this thread stores.
  __device__ Cell head_cell() const {
    const unsigned which = threadIdx.x;
    if (which == 0)
      return {item_.eager_cells,
              static_cast<Word64>(head().parts) << 16 | (item_.eager_cells != 0 ? item_.count : 0)};
    const unsigned put = (which - 1) / 2;
    if (item_.eager_cells == 0 || put >= item_.count) return {};
    return cell_of(which % 2 != 0 ? list_[put].displacement : list_[put].bytes);
  }
  __device__ Cell data_cell(std::uint32_t number) const {
    for (unsigned i = 0;; ++i) {
      const std::uint32_t cells = cells_for(list_[i].bytes);
      if (number >= cells) {
        number -= cells;
        continue;
      }
      const Word64 position = static_cast<Word64>(number) * cell_payload;
      return cell_of(load_bytes(static_cast<const std::byte*>(list_[i].origin) + position,
                                list_[i].bytes - position));
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
    if (threadIdx.x == 0 && peer_is_there(pair_))
      SystemWord(at(word)).store(value, ::cuda::memory_order_relaxed);
  }
  __device__ Word64 load_flag(unsigned slot, std::uint32_t line) {
    if (line == 0) return load_head(head_of(slot));
    if (line != 1 || !has_first_) data_ = Line::load(data_of(slot, number_of(line)));
    has_first_ = false;
    return Line::flag_of(data_);
  }
  __device__ protocol::window::Head read_head(unsigned) const {
    return {own_of(cells_), threadIdx.x < parts_ ? 1u : 0u};
  }
  __device__ void drain(unsigned, std::uint32_t line) {
    std::uint32_t number = number_of(line);
    for (unsigned i = 0; i < most_eager_puts; ++i) {
      const std::uint32_t cells = cells_for(bytes_[i]);
      if (number < cells) {
        const Word64 position = static_cast<Word64>(number) * cell_payload;
        return store_bytes(pair_.buffer + place_[i] + position, bytes_[i] - position,
                           value_of(data_));
      }
      number -= cells;
    }
  }
  template <Order order>
  __device__ Word64 load_part(std::uint32_t) {
    return SystemWord(pair_.receiver->done[threadIdx.x]).load(order_of(order));
  }

 private:
  static constexpr Word64 torn = ~Word64{0};
  __device__ static Word64 value_of(Cell cell) {
    return static_cast<std::uint32_t>(cell.low) | cell.high << 32;
  }
  // The first put travels with every HEAD, and this thread's first cell is fetched along: one look
  // at memory finds all of a small epoch. The flag, if all cells show the same.
  __device__ Word64 load_head(const Cell* head) {
    constexpr unsigned with_first = 3;
    Cell cell[wide_cells];
    for (unsigned i = 0; i < with_first; ++i) cell[i] = Line::load(head + i);
    data_ = Line::load(head + wide_cells + min(threadIdx.x, pair_.units - 1));
    has_first_ = true;
    const Word64 flag = Line::flag_of(cell[0]);
    const auto puts = static_cast<std::uint32_t>(cell[0].high) & 0xffff;
    const unsigned used = max(with_first, 1 + 2 * puts);
    for (unsigned i = with_first; i < wide_cells; ++i)
      if (i < used) cell[i] = Line::load(head + i);
    for (unsigned i = 1; i < wide_cells; ++i)
      if (i < used && Line::flag_of(cell[i]) != flag) return torn;
    cells_ = static_cast<std::uint32_t>(cell[0].low);
    parts_ = static_cast<std::uint32_t>(cell[0].high) >> 16;
    for (unsigned i = 0; i < most_eager_puts; ++i) {
      place_[i] = value_of(cell[1 + 2 * i]);
      bytes_[i] = i < puts ? value_of(cell[2 + 2 * i]) : 0;
    }
    return flag;
  }

  std::uint32_t cells_ = 0, parts_ = 0;
  Word64 place_[most_eager_puts], bytes_[most_eager_puts];
  Cell data_;
  bool has_first_ = false;
};

static_assert(protocol::window::MovesOperations<OriginPort> &&
              protocol::window::MovesOperations<TargetPort>);

}  // namespace penstock::peer_gpu
