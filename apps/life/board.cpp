// SPDX-License-Identifier: Apache-2.0
#include "board.hpp"

#include <cstring>

#include "census.hpp"
#include "common/gpu/gpu.hpp"
#include "life/gpu/kernels.hpp"

namespace penstock::life {
namespace {

// One row; written so that the compiler turns it into vector instructions.
void step_row(const std::uint8_t* above, const std::uint8_t* here, const std::uint8_t* below,
              std::uint8_t* __restrict next, int width) {
  for (int x = 0; x < width; ++x) {
    const auto neighbours =
        static_cast<std::uint8_t>(above[x - 1] + above[x] + above[x + 1] + here[x - 1] +
                                  here[x + 1] + below[x - 1] + below[x] + below[x + 1]);
    // 3 neighbours, or 2 and alive, is exactly: neighbours with its lowest bit set by a live cell
    // is 3.
    next[x] = static_cast<std::uint8_t>((neighbours | here[x]) == 3 ? 1 : 0);
  }
}

}  // namespace

Block block_of(const halo::Grid<2>& grid, int rank) {
  const auto first = grid.first(rank);
  const auto cells = grid.block(rank);
  return {static_cast<int>(first[1]), static_cast<int>(first[0]), static_cast<int>(cells[1]),
          static_cast<int>(cells[0])};
}

Board::Board(const Block& block, int columns, DeviceKind device, apps::Lane& lane)
    : block_(block),
      columns_(columns),
      device_(device),
      lane_(lane),
      stride_(block.width + 2),
      memory_(apps::allocate(device, apps::Use::data, 2 * array_bytes())),
      census_(apps::allocate(device, apps::Use::data, 0)) {
  for (std::size_t array : {0U, 1U}) {
    steps_[array] = [this, array] { step_array(array); };
    counts_[array] = [this, array] { count_array(array); };
  }
#if PENSTOCK_CUDA || PENSTOCK_HIP
  if (device == DeviceKind::gpu) gpu::load();
#endif
}

std::size_t Board::array_bytes() const noexcept {
  return static_cast<std::size_t>(stride_) * (static_cast<std::size_t>(block_.height) + 2);
}

std::uint8_t* Board::first_cell(std::size_t array) const noexcept {
  return reinterpret_cast<std::uint8_t*>(memory_.data()) + array * array_bytes() + stride_ + 1;
}

Board::View Board::cells(int generation) const noexcept {
  return halo::row_major<2>(first_cell(index(generation)) - stride_ - 1,
                            {std::ptrdiff_t{block_.height} + 2, std::ptrdiff_t{block_.width} + 2});
}

void Board::load(const Grid& grid) {
  std::vector<std::uint8_t> array(array_bytes());
  for (int y = 0; y < block_.height; ++y) {
    std::memcpy(array.data() + (y + 1) * stride_ + 1, grid.row(block_.y + y) + block_.x,
                static_cast<std::size_t>(block_.width));
  }
  if (device_ == DeviceKind::host) {
    std::memcpy(memory_.data(), array.data(), array.size());
  } else {
    apps::gpu::enqueue_copy(lane_.gpu_stream(), memory_.data(), array.data(), array.size());
    lane_.synchronize();
  }
}

std::vector<std::uint8_t> Board::read(int generation) const {
  std::vector<std::uint8_t> array(array_bytes());
  apps::fetch(device_, array.data(), memory_.data() + index(generation) * array_bytes(),
              array.size());
  std::vector<std::uint8_t> cells;
  for (int y = 0; y < block_.height; ++y) {
    const std::uint8_t* row = array.data() + (y + 1) * stride_ + 1;
    cells.insert(cells.end(), row, row + block_.width);
  }
  return cells;
}

void Board::begin_census(int most) {
  census_ = apps::allocate(device_, apps::Use::data,
                           sizeof(std::uint64_t) * (static_cast<std::size_t>(most) + 1));
}

std::vector<std::uint64_t> Board::census() const {
  std::vector<std::uint64_t> words(census_.bytes() / sizeof(std::uint64_t));
  apps::fetch(device_, words.data(), census_.data(), census_.bytes());
  const auto counted = static_cast<std::ptrdiff_t>(words.front());
  return {words.begin() + 1, words.begin() + 1 + counted};
}

void Board::step_array(std::size_t from) {
  std::uint8_t* const now = first_cell(from);
  std::uint8_t* const next = first_cell(1 - from);
#if PENSTOCK_CUDA || PENSTOCK_HIP
  if (device_ == DeviceKind::gpu) {
    return gpu::step(lane_.gpu_stream(), {now, stride_, block_.width, block_.height}, next);
  }
#endif
  for (std::ptrdiff_t y = 0; y < block_.height; ++y) {
    const std::uint8_t* here = now + y * stride_;
    step_row(here - stride_, here, here + stride_, next + y * stride_, block_.width);
  }
}

void Board::count_array(std::size_t array) {
  const std::span<std::uint64_t> census = census_.as<std::uint64_t>();
#if PENSTOCK_CUDA || PENSTOCK_HIP
  if (device_ == DeviceKind::gpu) {
    return gpu::count(lane_.gpu_stream(), {first_cell(array), stride_, block_.width, block_.height},
                      block_.x, block_.y, columns_, census.data());
  }
#endif
  std::uint64_t sum = 0;
  for (int y = 0; y < block_.height; ++y) {
    const std::uint8_t* row = first_cell(array) + y * stride_;
    for (int x = 0; x < block_.width; ++x) {
      if (row[x] == 0) continue;
      sum +=
          share_of(static_cast<std::uint64_t>(block_.y + y) * static_cast<std::uint64_t>(columns_) +
                   static_cast<std::uint64_t>(block_.x + x));
    }
  }
  census[1 + census[0]++] = sum;
}

}  // namespace penstock::life
