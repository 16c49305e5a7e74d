// SPDX-License-Identifier: Apache-2.0
// A program of many steps on a stream: each checks all cells of a periodic array, ghosts too, and gives its own cells
// the next step's values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "support/device.hpp"

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

StepCounts* make_counts();
void free_counts(StepCounts* counts);

// Own cells get the values of counts->step.
void enqueue_write(Stream stream, const Steps& steps);
// Every cell is compared with the value of counts->step, which then grows; own cells get the next values. `steps` must
// stay until then.
void enqueue_step(Stream stream, const Steps& steps);

}  // namespace penstock::test
