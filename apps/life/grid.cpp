// SPDX-License-Identifier: Apache-2.0
#include "grid.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "census.hpp"
#include "support/session.hpp"

namespace penstock::life {
namespace {

std::string extent_text(const Grid& grid) {
  return std::to_string(grid.width()) + " x " + std::to_string(grid.height());
}

void next_generation(const Grid& now, Grid& next) {
  const int width = now.width();
  const int height = now.height();
  for (int y = 0; y < height; ++y) {
    const std::uint8_t* above = now.row((y + height - 1) % height);
    const std::uint8_t* here = now.row(y);
    const std::uint8_t* below = now.row((y + 1) % height);
    for (int x = 0; x < width; ++x) {
      const int left = x == 0 ? width - 1 : x - 1;
      const int right = x == width - 1 ? 0 : x + 1;
      const int neighbours = above[left] + above[x] + above[right] + here[left] + here[right] +
                             below[left] + below[x] + below[right];
      next.set(x, y, neighbours == 3 || (neighbours == 2 && here[x] == 1));
    }
  }
}

}  // namespace

Grid place(const Grid& pattern, int width, int height) {
  Grid grid(width, height);
  if (pattern.width() > width || pattern.height() > height) {
    throw tool::UserError("the pattern of " + extent_text(pattern) +
                          " cells does not fit into a grid of " + extent_text(grid) +
                          ": give a larger --width and --height");
  }
  const int x = (width - pattern.width()) / 2;
  const int y = (height - pattern.height()) / 2;
  for (int row = 0; row < pattern.height(); ++row) {
    std::copy_n(pattern.row(row), pattern.width(), grid.row(y + row) + x);
  }
  return grid;
}

Grid gliders(int width, int height) {
  constexpr int period = 8;
  constexpr int glider[][2] = {{1, 0}, {2, 1}, {0, 2}, {1, 2}, {2, 2}};
  Grid grid(width, height);
  for (int y = 0; y + period <= height; y += period) {
    for (int x = 0; x + period <= width; x += period) {
      for (const auto& [dx, dy] : glider) grid.set(x + dx, y + dy, true);
    }
  }
  return grid;
}

Grid play_serially(Grid grid, int generations) {
  Grid next(grid.width(), grid.height());
  for (int generation = 0; generation < generations; ++generation) {
    next_generation(grid, next);
    std::swap(grid, next);
  }
  return grid;
}

long count_alive(const Grid& grid) {
  long alive = 0;
  for (int y = 0; y < grid.height(); ++y)
    alive = std::accumulate(grid.row(y), grid.row(y) + grid.width(), alive);
  return alive;
}

std::uint64_t census(const Grid& grid) {
  std::uint64_t sum = 0;
  const auto width = static_cast<std::uint64_t>(grid.width());
  for (int y = 0; y < grid.height(); ++y) {
    for (int x = 0; x < grid.width(); ++x) {
      if (grid.row(y)[x] != 0)
        sum += share_of(static_cast<std::uint64_t>(y) * width + static_cast<std::uint64_t>(x));
    }
  }
  return sum;
}

}  // namespace penstock::life
