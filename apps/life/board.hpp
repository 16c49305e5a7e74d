// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <penstock/halo.hpp>
#include <vector>

#include "common/lane.hpp"
#include "common/memory.hpp"
#include "grid.hpp"

namespace penstock::life {

// The cells of one rank.
struct Block {
  int x;
  int y;
  int width;
  int height;
};

Block block_of(const halo::Grid<2>& grid, int rank);

// A block of cells with a ring of ghost cells around it, in two arrays that take turns: generation
// g of a game is in array g mod 2. All work is done by a lane.
class Board {
 public:
  using View = halo::View<std::uint8_t, 2>;
  using DeviceKind = apps::DeviceKind;

  // `columns`: the whole grid's cells in x.
  Board(const Block& block, int columns, DeviceKind device, apps::Lane& lane);

  View cells(int generation) const noexcept;

  // Generation 0, from a whole grid. Blocks until it is there.
  void load(const Grid& grid);
  // A generation's cells without ghosts, row by row. Blocks; the lane's work must have ended.
  std::vector<std::uint8_t> read(int generation) const;

  // Computes generation + 1; the ghost cells must hold the neighbours' cells.
  void step(int generation) { lane_.launch(steps_[index(generation)]); }

  // A sum over the live cells of a generation, to which each gives a number that its place in the
  // grid determines. Sums of all generations that were counted since begin_census are kept until
  // then.
  void begin_census(int most);
  void count(int generation) { lane_.launch(counts_[index(generation)]); }
  std::vector<std::uint64_t> census() const;

 private:
  static std::size_t index(int generation) { return static_cast<std::size_t>(generation % 2); }
  std::size_t array_bytes() const noexcept;
  std::uint8_t* first_cell(std::size_t array) const noexcept;
  void step_array(std::size_t from);
  void count_array(std::size_t array);

  Block block_;
  int columns_;
  DeviceKind device_;
  apps::Lane& lane_;
  std::ptrdiff_t stride_;
  apps::Memory memory_;
  apps::Memory census_;  // a counter, then the sums
  std::array<apps::Lane::Kernel, 2> steps_;
  std::array<apps::Lane::Kernel, 2> counts_;
};

}  // namespace penstock::life
