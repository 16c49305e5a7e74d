// SPDX-License-Identifier: Apache-2.0
#include "board.hpp"

#include <cstring>

namespace penstock::life {
namespace {

// One row; written so that the compiler turns it into vector instructions.
void step_row(const std::uint8_t* above, const std::uint8_t* here, const std::uint8_t* below,
              std::uint8_t* __restrict next, int width) {
  for (int x = 0; x < width; ++x) {
    const auto neighbours = static_cast<std::uint8_t>(above[x - 1] + above[x] + above[x + 1] + here[x - 1] +
                                                      here[x + 1] + below[x - 1] + below[x] + below[x + 1]);
    // 3 neighbours, or 2 and alive, is exactly: neighbours with its lowest bit set by a live cell is 3.
    next[x] = static_cast<std::uint8_t>((neighbours | here[x]) == 3 ? 1 : 0);
  }
}

// Along one axis: where the cells that go in `direction` begin, and how many there are.
int edge_begin(int direction, int extent) {
  return direction > 0 ? extent - 1 : 0;
}
int ghost_begin(int direction, int extent) {
  return direction > 0 ? extent : direction;
}
int length(int direction, int extent) {
  return direction == 0 ? extent : 1;
}

}  // namespace

Board::Board(const Block& block)
    : block_(block),
      stride_(static_cast<std::size_t>(block.width) + 2),
      cells_(stride_ * (static_cast<std::size_t>(block.height) + 2)),
      next_(cells_.size()) {}

void Board::load(const Grid& grid) {
  for (int y = 0; y < block_.height; ++y) {
    std::memcpy(at(0, y), grid.row(block_.y + y) + block_.x, static_cast<std::size_t>(block_.width));
  }
}

void Board::store(Grid& grid) const {
  for (int y = 0; y < block_.height; ++y) {
    std::memcpy(grid.row(block_.y + y) + block_.x, at(0, y), static_cast<std::size_t>(block_.width));
  }
}

void Board::step() {
  for (int y = 0; y < block_.height; ++y) {
    step_row(at(0, y - 1), at(0, y), at(0, y + 1), next_.data() + offset(0, y), block_.width);
  }
  cells_.swap(next_);
}

Region Board::edge(Direction direction) const noexcept {
  return {edge_begin(direction.x, block_.width), edge_begin(direction.y, block_.height),
          length(direction.x, block_.width), length(direction.y, block_.height)};
}

Region Board::ghost(Direction direction) const noexcept {
  return {ghost_begin(direction.x, block_.width), ghost_begin(direction.y, block_.height),
          length(direction.x, block_.width), length(direction.y, block_.height)};
}

void Board::copy_out(const Region& region, std::uint8_t* to) const noexcept {
  for (int y = region.y; y < region.y + region.height; ++y) {
    for (int x = region.x; x < region.x + region.width; ++x) *to++ = *at(x, y);
  }
}

void Board::copy_in(const Region& region, const std::uint8_t* from) noexcept {
  for (int y = region.y; y < region.y + region.height; ++y) {
    for (int x = region.x; x < region.x + region.width; ++x) *at(x, y) = *from++;
  }
}

}  // namespace penstock::life
