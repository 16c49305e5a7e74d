// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

namespace penstock::life {

// The eight directions, row by row; y grows downwards. Opposite directions add up to 7.
struct Direction {
  int x;
  int y;
};
inline constexpr std::array<Direction, 8> directions{
    {{-1, -1}, {0, -1}, {1, -1}, {-1, 0}, {1, 0}, {-1, 1}, {0, 1}, {1, 1}}};
constexpr int opposite(int direction) {
  return 7 - direction;
}

// The cells of one rank.
struct Block {
  int x;
  int y;
  int width;
  int height;
};

// A periodic grid of cells cut into columns x rows blocks, one a rank; blocks differ by at most one cell in width and
// in height.
class Decomposition {
 public:
  // Lets MPI choose the rank grid, and lays its longer side along the grid's longer side. Throws tool::UserError when
  // a rank would be left without cells.
  Decomposition(int ranks, int width, int height);

  int columns() const noexcept { return columns_; }
  int rows() const noexcept { return rows_; }
  Block block(int rank) const noexcept;
  // The rank next to `rank` in that direction: the rank itself, or the same rank several times, where the rank grid is
  // thin.
  int neighbour(int rank, Direction direction) const noexcept;

 private:
  int width_;
  int height_;
  int columns_;
  int rows_;
};

}  // namespace penstock::life
