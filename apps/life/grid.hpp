// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock::life {

// A whole grid, one byte a cell (0 dead, 1 alive), whose edges are joined: what one rank alone
// would compute on.
class Grid {
 public:
  Grid(int width, int height)
      : width_(width),
        height_(height),
        cells_(static_cast<std::size_t>(width) * static_cast<std::size_t>(height)) {}

  int width() const noexcept { return width_; }
  int height() const noexcept { return height_; }
  std::uint8_t* row(int y) noexcept {
    return cells_.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(width_);
  }
  const std::uint8_t* row(int y) const noexcept {
    return cells_.data() + static_cast<std::size_t>(y) * static_cast<std::size_t>(width_);
  }
  void set(int x, int y, bool alive) noexcept { row(y)[x] = alive ? 1 : 0; }
  bool operator==(const Grid&) const = default;

 private:
  int width_;
  int height_;
  std::vector<std::uint8_t> cells_;
};

// The pattern in the middle of an empty grid. Throws tool::UserError when it does not fit.
Grid place(const Grid& pattern, int width, int height);

// A glider in each 8 x 8 cells: after 4 generations the same, one cell to the right and down.
Grid gliders(int width, int height);

// The grid some generations later, computed plainly: the reference of every check.
Grid play_serially(Grid grid, int generations);

long count_alive(const Grid& grid);

// The sum over live cells that Board::count gives.
std::uint64_t census(const Grid& grid);

}  // namespace penstock::life
