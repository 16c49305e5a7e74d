// SPDX-License-Identifier: Apache-2.0
#include "decomposition.hpp"

#include <mpi.h>

#include <string>
#include <utility>

#include "session.hpp"

namespace penstock::life {
namespace {

// First cell of part `index` of `parts` of `cells`.
int first_cell(int index, int parts, int cells) {
  return static_cast<int>(static_cast<long>(index) * cells / parts);
}

int wrap(int value, int period) {
  return (value + period) % period;
}

}  // namespace

Decomposition::Decomposition(int ranks, int width, int height) : width_(width), height_(height) {
  int extents[2] = {0, 0};
  MPI_Dims_create(ranks, 2, extents);  // the larger extent comes first
  columns_ = extents[0];
  rows_ = extents[1];
  if (height > width) std::swap(columns_, rows_);
  if (width < columns_ || height < rows_) {
    throw tool::UserError("a grid of " + std::to_string(width) + " x " + std::to_string(height) +
                          " cells is too small for " + std::to_string(columns_) + " x " + std::to_string(rows_) +
                          " ranks: every rank needs a cell; take a larger grid or fewer ranks");
  }
}

Block Decomposition::block(int rank) const noexcept {
  const int column = rank % columns_;
  const int row = rank / columns_;
  const int x = first_cell(column, columns_, width_);
  const int y = first_cell(row, rows_, height_);
  return {x, y, first_cell(column + 1, columns_, width_) - x, first_cell(row + 1, rows_, height_) - y};
}

int Decomposition::neighbour(int rank, Direction direction) const noexcept {
  const int column = wrap(rank % columns_ + direction.x, columns_);
  const int row = wrap(rank / columns_ + direction.y, rows_);
  return row * columns_ + column;
}

}  // namespace penstock::life
