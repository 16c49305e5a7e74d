// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "decomposition.hpp"
#include "grid.hpp"

namespace penstock::life {

// A rectangle of a board, in cells; (0, 0) is the first cell of the rank's block, -1 and the extents are its ghost
// cells.
struct Region {
  int x;
  int y;
  int width;
  int height;
  std::size_t cells() const noexcept { return static_cast<std::size_t>(width) * static_cast<std::size_t>(height); }
};

// The block of one rank with a ring of ghost cells around it.
class Board {
 public:
  explicit Board(const Block& block);

  const Block& block() const noexcept { return block_; }
  void load(const Grid& grid);
  void store(Grid& grid) const;

  // Computes the next generation of the block; the ghost cells must hold the neighbours' cells.
  void step();

  // The cells of the block that the neighbour in this direction needs, and the ghost cells that it fills.
  Region edge(Direction direction) const noexcept;
  Region ghost(Direction direction) const noexcept;

  void copy_out(const Region& region, std::uint8_t* to) const noexcept;
  void copy_in(const Region& region, const std::uint8_t* from) noexcept;

 private:
  std::uint8_t* at(int x, int y) noexcept { return cells_.data() + offset(x, y); }
  const std::uint8_t* at(int x, int y) const noexcept { return cells_.data() + offset(x, y); }
  std::size_t offset(int x, int y) const noexcept {
    return static_cast<std::size_t>(y + 1) * stride_ + static_cast<std::size_t>(x + 1);
  }

  Block block_;
  std::size_t stride_;
  std::vector<std::uint8_t> cells_;
  std::vector<std::uint8_t> next_;
};

}  // namespace penstock::life
