// SPDX-License-Identifier: Apache-2.0
// What the steps of halo/steps.hpp work on, for kernels too.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__) || defined(__HIPCC__)
#define PENSTOCK_TEST_BOTH __host__ __device__
#else
#define PENSTOCK_TEST_BOTH
#endif

namespace penstock::test {

struct StepCounts {
  std::uint64_t step;
  std::uint64_t wrong;  // cells
};

struct Steps {
  std::uint64_t* cells;  // row-major, with ghosts
  std::ptrdiff_t rows, columns;
  std::ptrdiff_t width;
  std::ptrdiff_t first_row, first_column;  // of own cells, in the grid
  std::ptrdiff_t grid_rows, grid_columns;
  StepCounts* counts;  // where stream and host reach it
};

// What the cell at this place of the array holds in a step.
PENSTOCK_TEST_BOTH inline std::uint64_t value_at(const Steps& steps, std::uint64_t step,
                                                 std::ptrdiff_t row, std::ptrdiff_t column) {
  const std::ptrdiff_t y =
      (steps.first_row + row - steps.width + steps.grid_rows) % steps.grid_rows;
  const std::ptrdiff_t x =
      (steps.first_column + column - steps.width + steps.grid_columns) % steps.grid_columns;
  return (step * static_cast<std::uint64_t>(steps.grid_rows) + static_cast<std::uint64_t>(y)) *
             static_cast<std::uint64_t>(steps.grid_columns) +
         static_cast<std::uint64_t>(x);
}

PENSTOCK_TEST_BOTH inline bool is_own(const Steps& steps, std::ptrdiff_t row,
                                      std::ptrdiff_t column) {
  return row >= steps.width && row < steps.rows - steps.width && column >= steps.width &&
         column < steps.columns - steps.width;
}

}  // namespace penstock::test
