// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halo/steps.hpp"

#if defined(__CUDACC__) || defined(__HIPCC__)
#define PENSTOCK_TEST_BOTH __host__ __device__
#else
#define PENSTOCK_TEST_BOTH
#endif

namespace penstock::test {

// What the cell at this place of the array holds in a step.
PENSTOCK_TEST_BOTH inline std::uint64_t value_at(const Steps& steps, std::uint64_t step, std::ptrdiff_t row,
                                                 std::ptrdiff_t column) {
  const std::ptrdiff_t y = (steps.first_row + row - steps.width + steps.grid_rows) % steps.grid_rows;
  const std::ptrdiff_t x = (steps.first_column + column - steps.width + steps.grid_columns) % steps.grid_columns;
  return (step * static_cast<std::uint64_t>(steps.grid_rows) + static_cast<std::uint64_t>(y)) *
             static_cast<std::uint64_t>(steps.grid_columns) +
         static_cast<std::uint64_t>(x);
}

PENSTOCK_TEST_BOTH inline bool is_own(const Steps& steps, std::ptrdiff_t row, std::ptrdiff_t column) {
  return row >= steps.width && row < steps.rows - steps.width && column >= steps.width &&
         column < steps.columns - steps.width;
}

}  // namespace penstock::test
