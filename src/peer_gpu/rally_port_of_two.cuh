// SPDX-License-Identifier: Apache-2.0
// The port of one thread to a direct exchange of two members, where no thread has more than one
// cell. It has all that it needs in registers before it begins: loads that poll would have the item
// read again each time. 8 bytes take 0.77 of the time that they take by RallyPort, 64 KiB 0.69.
#pragma once

#include "peer_gpu/rally_cells.cuh"
#include "transport/word_sum.hpp"

namespace penstock::peer_gpu {

class RallyPortOfTwo {
 public:
  static constexpr bool may_close = false, in_turns = false;

  __device__ static bool any(bool value) { return value; }
  __device__ RallyPortOfTwo(const RallyItem& item, std::uint32_t thread, std::uint32_t /*threads*/)
      : cell_(thread),
        mine_first_(item.me == 0),
        combination_(item.combination),
        combines_(item.combines),
        aligned_(item.aligned) {
    const RallyRoute &other = item.route[1 - item.me], &own = item.route[item.me];
    goes_ = cell_ < other.units_to;
    comes_ = cell_ < other.units_from;
    stays_ = cell_ < own.units_from;
    there_ = other.there + cell_;
    there_cells_ = other.there_cells;
    here_ = other.here + cell_;
    here_cells_ = other.here_cells;
    to_ = other.to;
    bytes_ = other.bytes_from;
    own_to_ = own.to;
    own_bytes_ = own.bytes_from;
    if (goes_) sent_ = load_word(other.from, other.bytes_to, cell_, aligned_);
    if (item.one_source)
      kept_ = sent_;
    else if (stays_)
      kept_ = load_word(own.from, own.bytes_to, cell_, aligned_);
  }

  __device__ static constexpr unsigned members() { return 2; }
  __device__ static constexpr unsigned me() { return 0; }
  __device__ std::uint32_t lines_to(unsigned member) const {
    return member == me() ? stays_ : goes_;
  }
  __device__ std::uint32_t lines_from(unsigned member) const {
    return member == me() ? stays_ : comes_;
  }
  __device__ static constexpr std::uint32_t most_lines() { return 1; }
  __device__ static constexpr unsigned flag_bits() { return PENSTOCK_FLAG_BITS; }

  __device__ static void fill(unsigned, unsigned, std::uint32_t) {}
  // Relaxed, as RallyPort's.
  __device__ void store_flag(unsigned, unsigned slot, std::uint32_t, Word64 flag) {
    gpu::store_cell(there_ + slot * static_cast<Word64>(there_cells_), flagged(sent_, flag));
  }
  __device__ Word64 load_flag(unsigned, unsigned slot, std::uint32_t) {
    found_ = gpu::load_cell(here_ + slot * static_cast<Word64>(here_cells_));
    return flag_of(found_);
  }
  // When it is called for the other member, both members' have come.
  __device__ void take(unsigned member, unsigned, std::uint32_t) {
    if (combines_) {
      if (member != me()) store_word(to_, bytes_, cell_, aligned_, combined());
    } else if (member == me()) {
      store_word(own_to_, own_bytes_, cell_, aligned_, kept_);
    } else {
      store_word(to_, bytes_, cell_, aligned_, data_of(found_));
    }
  }
  __device__ static Word64 load_closed(unsigned) { return 0; }
  __device__ static void store_closed(unsigned, Word64) {}

 private:
  __device__ Word64 combined() const {
    const Word64 theirs = data_of(found_);
    return transport::combine_words(combination_, mine_first_ ? kept_ : theirs,
                                    mine_first_ ? theirs : kept_);
  }

  const std::uint32_t cell_;
  const bool mine_first_;  // in the order of the ranks
  const transport::Combination combination_;
  const bool combines_, aligned_;
  bool goes_, comes_, stays_;  // whether this thread has a cell to the other, from it, to itself
  std::uint32_t there_cells_, here_cells_;  // of a slot
  Cell* there_;
  const Cell* here_;
  std::byte *to_, *own_to_;
  std::uint64_t bytes_, own_bytes_;
  Word64 sent_ = 0, kept_ = 0;
  Cell found_{};
};

}  // namespace penstock::peer_gpu
