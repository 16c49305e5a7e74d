// SPDX-License-Identifier: Apache-2.0
// The port of one thread to a direct exchange. Each thread runs the state machine for cells of its
// own, and waits for no other one of its kernel.
#pragma once

#include "peer_gpu/rally_cells.cuh"
#include "transport/word_sum.hpp"

namespace penstock::peer_gpu {

using gpu::load_cell, gpu::store_cell;

// `threads`: of all blocks that serve the item; `thread`: which of them this is. The cells of a
// thread need not be the same ones in a start and in its wait, nor at two members: that all of an
// earlier epoch have been taken, a kernel's end says for all of its threads.
//
// `ahead`: so many cells of a thread are loaded before the first is looked at; it may have more.
template <int ahead>
class RallyPort {
 public:
  static constexpr bool may_close = false, in_turns = false;
  static constexpr unsigned processor_threads = 1;

  __device__ static bool any(bool value) { return value; }

  __device__ RallyPort(const RallyItem& item, std::uint32_t thread, std::uint32_t threads)
      : item_(item),
        routes_(item.list != nullptr ? item.list : item.route),
        thread_(thread),
        threads_(threads),
        most_lines_(lines_of(item.most_units)) {
    if (!item.one_source) return;
    const RallyRoute& route = routes_[item.me];
#pragma unroll
    for (int i = 0; i < ahead; ++i)
      if (cell(i) < item.most_units) ours_[i] = load(route.from, route.bytes_to, i);
  }

  __device__ unsigned members() const {
    return item_.members;
  }
  __device__ unsigned me() const {
    return item_.me;
  }
  __device__ std::uint32_t lines_to(unsigned member) const {
    return item_.alike ? most_lines_ : lines_of(routes_[member].units_to);
  }
  __device__ std::uint32_t lines_from(unsigned member) const {
    return item_.alike ? most_lines_ : lines_of(routes_[member].units_from);
  }
  __device__ std::uint32_t most_lines() const {
    return most_lines_;
  }
  __device__ static constexpr unsigned flag_bits() {
    return PENSTOCK_FLAG_BITS;
  }

  __device__ void fill(unsigned member, unsigned, std::uint32_t line) {
    data_ = ours(member, line);
  }
  // Relaxed, as the data is in the words with the flag, and the loads of the epoch before have
  // ended with their kernel.
  __device__ void store_flag(unsigned member, unsigned slot, std::uint32_t line, Word64 flag) {
    const RallyRoute& route = routes_[member];
    store_cell(route.there + slot * static_cast<Word64>(route.there_cells) + cell(line),
               flagged(data_, flag));
  }
  __device__ Word64 load_flag(unsigned member, unsigned slot, std::uint32_t line) {
    found_ = load_cell(at(member, slot, line));
    return flag_of(found_);
  }
  __device__ void take(unsigned member, unsigned slot, std::uint32_t line) {
    const RallyRoute& route = routes_[member];
    const Word64 data = member == item_.me ? ours(member, line) : theirs(member, slot, line);
    if (!item_.combines) return store(route.to, route.bytes_from, line, data);
    sum_ = member == 0 ? transport::first_word(item_.combination, data)
                       : transport::next_word(item_.combination, sum_, data);
    if (member + 1 == item_.members)
      store(route.to, route.bytes_from, line, transport::last_word(item_.combination, sum_));
  }
  __device__ static Word64 load_closed(unsigned) {
    return 0;
  }
  __device__ static void store_closed(unsigned, Word64) {}

 private:
  __device__ std::uint32_t lines_of(std::uint32_t cells) const {
    if (thread_ >= cells) return 0;
    return ahead == 1 ? 1 : (cells - thread_ - 1) / threads_ + 1;
  }
  __device__ std::uint32_t cell(std::uint32_t line) const {
    return thread_ + line * threads_;
  }
  __device__ const Cell* at(unsigned member, unsigned slot, std::uint32_t line) const {
    const RallyRoute& route = routes_[member];
    return route.here + slot * static_cast<Word64>(route.here_cells) + cell(line);
  }
  __device__ Word64 ours(unsigned member, std::uint32_t line) const {
    if (item_.one_source) {
#pragma unroll
      for (int i = 0; i < ahead; ++i)
        if (line == static_cast<std::uint32_t>(i)) return ours_[i];
    }
    const RallyRoute& route = routes_[member];
    return load(route.from, route.bytes_to, line);
  }
  // Of two members the other one's has been looked at last.
  __device__ Word64 theirs(unsigned member, unsigned slot, std::uint32_t line) {
    if (item_.members != 2) found_ = load_cell(at(member, slot, line));
    return data_of(found_);
  }

  __device__ Word64 load(const std::byte* from, std::uint64_t bytes, std::uint32_t line) const {
    return load_word(from, bytes, cell(line), item_.aligned);
  }
  __device__ void store(std::byte* to, std::uint64_t bytes, std::uint32_t line, Word64 data) const {
    store_word(to, bytes, cell(line), item_.aligned, data);
  }

  const RallyItem& item_;
  const RallyRoute* const routes_;
  const std::uint32_t thread_;
  const std::uint32_t threads_;
  const std::uint32_t most_lines_;
  Cell found_{};
  Word64 data_ = 0;
  transport::WordSum sum_{};
  Word64 ours_[ahead]{};
};

}  // namespace penstock::peer_gpu
