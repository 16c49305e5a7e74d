// SPDX-License-Identifier: Apache-2.0
// What each cell holds before and after an exchange, computed cell by cell from the global grid.
#pragma once

#include <algorithm>

#include "cells.hpp"

namespace penstock::test {

using halo::Pattern;
using halo::Reduction;

template <class T>
T reduced(Reduction reduction, T held, T arrived) {
  if constexpr (!std::is_same_v<T, Triple>) {
    if (reduction == Reduction::sum) return static_cast<T>(held + arrived);
    if (reduction == Reduction::min) return std::min(held, arrived);
    if (reduction == Reduction::max) return std::max(held, arrived);
  }
  return arrived;
}

// One array of a rank. Indices count ghosts, cells and component.
template <class T, std::size_t N>
class Expected {
 public:
  Expected(const Grid<N>& grid, const halo::Options& options, std::uint64_t number)
      : grid_(grid), width_(options.width), pattern_(options.pattern), number_(number) {}

  // Own cells are known by their place in the grid, ghosts by the rank that has them.
  T before(const Index<N + 1>& index) const { return before(grid_.rank(), index); }

  T after_gather(const Index<N + 1>& index) const {
    const Index<N> offset = offset_of(index);
    return takes_part(offset) ? cell(grid_.rank(), index) : before(index);
  }

  T after_scatter(const Index<N + 1>& index, Reduction reduction) const {
    T held = before(index);
    if (offset_of(index) != Index<N>{}) return held;
    Index<N> three;
    three.fill(3);
    for_each_index(three, [&](Index<N> offset) {
      for (std::ptrdiff_t& step : offset) --step;
      Index<N + 1> there = index;
      if (takes_part(offset) && ghost_of(offset, there)) {
        held = reduced(reduction, held, before(grid_.neighbour(offset), there));
      }
    });
    return held;
  }

 private:
  T before(int rank, const Index<N + 1>& index) const {
    return offset_of(index, rank) == Index<N>{} ? cell(rank, index) : ghost(rank, index);
  }

  T cell(int rank, const Index<N + 1>& index) const {
    std::uint64_t hash = mix(number_ * 64 + static_cast<std::uint64_t>(index[N]) + 1);
    for (std::size_t d = 0; d < N; ++d) {
      const std::ptrdiff_t cells = grid_.cells()[d];
      const std::ptrdiff_t at = (grid_.first(rank)[d] + index[d] - width_ + cells) % cells;
      hash = mix(hash ^ static_cast<std::uint64_t>(at + 1));
    }
    return value_of<T>(hash);
  }

  T ghost(int rank, const Index<N + 1>& index) const {
    std::uint64_t hash = mix(number_ * 1000 + static_cast<std::uint64_t>(rank) + 0x123456789U);
    for (const std::ptrdiff_t at : index) hash = mix(hash ^ static_cast<std::uint64_t>(at + 1));
    return value_of<T>(hash);
  }

  Index<N> offset_of(const Index<N + 1>& index) const { return offset_of(index, grid_.rank()); }
  Index<N> offset_of(const Index<N + 1>& index, int rank) const {
    Index<N> offset{};
    for (std::size_t d = 0; d < N; ++d) {
      offset[d] = index[d] < width_ ? -1 : index[d] >= grid_.block(rank)[d] + width_ ? 1 : 0;
    }
    return offset;
  }

  bool takes_part(const Index<N>& offset) const {
    const auto steps =
        std::count_if(offset.begin(), offset.end(), [](std::ptrdiff_t step) { return step != 0; });
    return steps > 0 && (pattern_ == Pattern::node || steps == 1) &&
           grid_.neighbour(offset) != MPI_PROC_NULL;
  }

  // Whether this rank's cell is a ghost of the neighbour at `offset`, and where it has it.
  bool ghost_of(const Index<N>& offset, Index<N + 1>& index) const {
    for (std::size_t d = 0; d < N; ++d) {
      const std::ptrdiff_t block = grid_.block()[d];
      if (offset[d] < 0 && index[d] >= 2 * width_) return false;
      if (offset[d] > 0 && index[d] < block) return false;
      if (offset[d] < 0) index[d] += grid_.block(grid_.neighbour(offset))[d];
      if (offset[d] > 0) index[d] -= block;
    }
    return true;
  }

  const Grid<N>& grid_;
  std::ptrdiff_t width_;
  Pattern pattern_;
  std::uint64_t number_;
};

}  // namespace penstock::test
