// SPDX-License-Identifier: Apache-2.0
// A port: that of one warp to a direct exchange of two members in lines of 128 bytes, as lines.cuh
// has them: 15 words of data, and the flag. Eight threads share a line, so a warp has four at a
// time: these are what the protocol calls a line, and the warp runs the state machine as one.
//
// The code that a warp runs through decides the time of all but the largest messages
// (docs/results/collectives.md). So what a launch needs is in registers, members are numbered from
// this one on, which leaves the compiler no question of who is who, and messages at odd addresses
// are moved by calls. Two fours at a time took longer at every size: they need more registers than
// there are where two blocks share a multiprocessor.
#pragma once

#include "gpu/access.cuh"
#include "gpu/word_bytes.cuh"
#include "peer_gpu/rally_item.hpp"
#include "transport/word_sum.hpp"

namespace penstock::peer_gpu {

class RallyLinesOfTwo {
 public:
  static constexpr bool may_close = false, in_turns = true;
  static constexpr unsigned processor_threads = 32;

  __device__ static bool any(bool value) { return __any_sync(~0u, value) != 0; }

  // `threads`: of all blocks that serve the item; `thread`: which of them this is. A line is the
  // same warp's there and here, in a start and in its wait: a result in place is stored where that
  // has read what it sent.
  __device__ RallyLinesOfTwo(const RallyItem& item, std::uint32_t thread, std::uint32_t threads)
      : item_(item),
        first_(thread / processor_threads * fours),
        step_(threads / processor_threads * fours),
        combination_(item.combination),
        combines_(item.combines),
        mine_first_(item.me == 0),
        aligned_(item.aligned) {
    const RallyRoute &other = item.route[1 - item.me], &own = item.route[item.me];
    there_ = other.there + rank();
    there_cells_ = other.there_cells;
    here_ = other.here + rank();
    here_cells_ = other.here_cells;
    units_to_ = other.units_to;
    units_from_ = other.units_from;
    lines_to_ = lines_of(other.units_to);
    lines_from_ = lines_of(other.units_from);
    lines_own_ = lines_of(own.units_from);
    sent_ = Message(const_cast<std::byte*>(other.from), other.bytes_to);
    received_ = Message(other.to, other.bytes_from);
    own_sent_ = Message(const_cast<std::byte*>(own.from), own.bytes_to);
    own_received_ = Message(own.to, own.bytes_from);
  }

  __device__ static constexpr unsigned members() { return 2; }
  __device__ static constexpr unsigned me() { return 0; }
  __device__ std::uint32_t lines_to(unsigned member) const {
    return member == me() ? lines_own_ : lines_to_;
  }
  __device__ std::uint32_t lines_from(unsigned member) const {
    return member == me() ? lines_own_ : lines_from_;
  }
  __device__ std::uint32_t most_lines() const {
    return max(lines_own_, max(lines_to_, lines_from_));
  }
  __device__ static constexpr unsigned flag_bits() { return PENSTOCK_FLAG_BITS; }

  __device__ void fill(unsigned, unsigned, std::uint32_t line) {
    if (aligned_) fetch(data_, sent_, place(line));
  }
  // Relaxed, as RallyPort's.
  __device__ void store_flag(unsigned, unsigned slot, std::uint32_t line, Word64 flag) {
    Cell* const to = there_ + slot * there_cells_;
    if (aligned_)
      store(to, place(line), units_to_, data_, flag);
    else
      send_bytes(item_, to, place(line), flag);
  }
  // The flag that all four show; else something above a flag's 32 bits.
  __device__ Word64 load_flag(unsigned, unsigned slot, std::uint32_t line) {
    data_ = load(here_ + slot * here_cells_, place(line), units_from_);
    const Word64 flag = __shfl_sync(~0u, data_.high, flag_rank);
    return any(data_.high != flag && has_flag()) ? ~Word64{0} : flag;
  }
  // When it is called for the other member, its line is the one that has been looked at last.
  __device__ void take(unsigned member, unsigned, std::uint32_t line) {
    const bool own = member == me();
    if (own && combines_) return;
    if (!aligned_) return take_bytes(item_, own, data_, place(line));
    Cell data = data_;
    if (own || combines_) fetch(data, own_sent_, place(line));
    if (own) return drain(data, own_received_, place(line));
    if (combines_) data = combined(data, data_);
    drain(data, received_, place(line));
  }
  __device__ static Word64 load_closed(unsigned) { return 0; }
  __device__ static void store_closed(unsigned, Word64) {}

 private:
  static constexpr unsigned fours = processor_threads / wide_cells, flag_rank = wide_cells - 1;
  static constexpr std::uint32_t words_of_line = wide_payload / sizeof(Word64);

  // What lies at an aligned address.
  struct Message {
    Word64* word = nullptr;
    std::uint32_t words = 0, tail = 0;  // whole ones, and bytes behind them

    Message() = default;
    __device__ Message(std::byte* address, std::uint64_t bytes)
        : word(reinterpret_cast<Word64*>(address)),
          words(static_cast<std::uint32_t>(bytes / sizeof(Word64))),
          tail(bytes % sizeof(Word64)) {}
    __device__ std::byte* behind_words() const {
      return reinterpret_cast<std::byte*>(word + words);
    }
  };

  // This thread's place in its line. It has words `rank` and `rank` + 8, so that neighbouring
  // threads load neighbouring words; the last one's second word is the flag.
  __device__ static unsigned rank() { return threadIdx.x % wide_cells; }
  __device__ static bool has_flag() { return rank() == flag_rank; }

  // Of the 128 bytes that this thread has a part of, in the protocol's line.
  __device__ std::uint32_t place(std::uint32_t line) const {
    return first_ + line * step_ + threadIdx.x % processor_threads / wide_cells;
  }
  __device__ std::uint32_t lines_of(std::uint32_t units) const {
    return first_ < units ? (units - first_ - 1) / step_ + 1 : 0;
  }

  // That data and flag are seen together needs eight threads in one access. Behind the last unit
  // nothing is stored, and the last one is looked at once more.
  __device__ static void store(Cell* slot, std::uint32_t unit, std::uint32_t units, Cell data,
                               Word64 flag) {
    if (has_flag()) data.high = flag;
    __syncwarp(~0u);
    if (unit < units) gpu::store_cell(slot + unit * wide_cells, data);
  }
  __device__ static Cell load(const Cell* slot, std::uint32_t unit, std::uint32_t units) {
    __syncwarp(~0u);
    return gpu::load_cell(slot + min(unit, units - 1) * wide_cells);
  }

  // Calls visit(word of data, its number in the message) for each word that this thread has.
  template <class Visit>
  __device__ static void each_word(Cell& data, std::uint32_t unit, Visit visit) {
    const std::uint32_t first = unit * words_of_line + rank();
    visit(data.low, first);
    if (!has_flag()) visit(data.high, first + wide_cells);
  }
  __device__ static void fetch(Cell& data, const Message& from, std::uint32_t unit) {
    each_word(data, unit, [&](Word64& word, std::uint32_t number) {
      if (number < from.words) word = from.word[number];
    });
    if (from.tail == 0) return;
    each_word(data, unit, [&](Word64& word, std::uint32_t number) {
      if (number == from.words) word = gpu::load_bytes(from.behind_words(), from.tail);
    });
  }
  __device__ static void drain(Cell& data, const Message& to, std::uint32_t unit) {
    each_word(data, unit, [&](Word64& word, std::uint32_t number) {
      if (number < to.words) to.word[number] = word;
    });
    if (to.tail == 0) return;
    each_word(data, unit, [&](Word64& word, std::uint32_t number) {
      if (number == to.words) gpu::store_bytes(to.behind_words(), to.tail, word);
    });
  }
  // In the order of the ranks.
  __device__ Cell combined(const Cell& mine, const Cell& theirs) const {
    const auto words = [&](Word64 own, Word64 other) {
      return transport::combine_words(combination_, mine_first_ ? own : other,
                                      mine_first_ ? other : own);
    };
    return {words(mine.low, theirs.low), words(mine.high, theirs.high)};
  }

  // ---- Messages at any address, in calls that are not this object's: else it would lie in memory.
  static __device__ __noinline__ void send_bytes(const RallyItem& item, Cell* to,
                                                 std::uint32_t unit, Word64 flag) {
    const RallyRoute& route = item.route[1 - item.me];
    store(to, unit, route.units_to, fetch_bytes(item, route, unit), flag);
  }
  static __device__ __noinline__ void take_bytes(const RallyItem& item, bool own, Cell data,
                                                 std::uint32_t unit) {
    const RallyRoute &other = item.route[1 - item.me], &mine = item.route[item.me];
    if (own || item.combines) {
      const Cell ours = fetch_bytes(item, mine, unit);
      data = own ? ours : sum_of_any(item, ours, data);
    }
    drain_bytes(item, own ? mine : other, unit, data);
  }
  static __device__ Cell sum_of_any(const RallyItem& item, const Cell& mine, const Cell& theirs) {
    const Cell &first = item.me == 0 ? mine : theirs, &second = item.me == 0 ? theirs : mine;
    return {transport::combine_any(item.combination, first.low, second.low),
            transport::combine_any(item.combination, first.high, second.high)};
  }
  // Where word `which` of this thread's cell is in a message of `bytes`, and how many bytes that
  // has from there on; 0: it has none.
  static __device__ Word64 bytes_at(std::uint64_t bytes, std::uint32_t unit, unsigned which,
                                    std::uint64_t& position) {
    position = unit * Word64{wide_payload} + (rank() + which * wide_cells) * sizeof(Word64);
    return (which == 1 && has_flag()) || position >= bytes ? 0 : bytes - position;
  }
  static __device__ Cell fetch_bytes(const RallyItem& item, const RallyRoute& route,
                                     std::uint32_t unit) {
    Word64 word[2] = {0, 0};
    for (unsigned which = 0; which < 2; ++which) {
      std::uint64_t position;
      if (const Word64 left = bytes_at(route.bytes_to, unit, which, position))
        word[which] = gpu::load_word(route.from + position, left, item.aligned);
    }
    return {word[0], word[1]};
  }
  static __device__ void drain_bytes(const RallyItem& item, const RallyRoute& route,
                                     std::uint32_t unit, const Cell& data) {
    for (unsigned which = 0; which < 2; ++which) {
      std::uint64_t position;
      if (const Word64 left = bytes_at(route.bytes_from, unit, which, position))
        gpu::store_word(route.to + position, left, item.aligned, which == 0 ? data.low : data.high);
    }
  }

  const RallyItem& item_;
  const std::uint32_t first_, step_;  // the warp's units: four from first_ on, and every step_
  const transport::Combination combination_;
  const bool combines_, mine_first_, aligned_;
  std::uint32_t units_to_, units_from_;  // of the other member, as what follows but `own`
  std::uint32_t lines_to_, lines_from_, lines_own_;
  std::uint32_t there_cells_, here_cells_;  // of a slot
  Cell* there_;                             // this thread's of unit 0
  const Cell* here_;
  Message sent_, received_, own_sent_, own_received_;
  Cell data_{};  // of the line that is sent or looked at
};

}  // namespace penstock::peer_gpu
