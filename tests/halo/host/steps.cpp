// SPDX-License-Identifier: Apache-2.0
#include "halo/steps.hpp"

#include "halo/cells.hpp"

namespace penstock::test {
namespace {

template <class Visit>
void for_each_cell(const Steps& steps, Visit visit) {
  for (std::ptrdiff_t row = 0; row < steps.rows; ++row) {
    for (std::ptrdiff_t column = 0; column < steps.columns; ++column) {
      visit(row, column, steps.cells[row * steps.columns + column]);
    }
  }
}

void write(void* argument) {
  const Steps& steps = *static_cast<const Steps*>(argument);
  for_each_cell(steps, [&](std::ptrdiff_t row, std::ptrdiff_t column, std::uint64_t& cell) {
    if (is_own(steps, row, column)) cell = value_at(steps, steps.counts->step, row, column);
  });
}

void step(void* argument) {
  const Steps& steps = *static_cast<const Steps*>(argument);
  for_each_cell(steps, [&](std::ptrdiff_t row, std::ptrdiff_t column, const std::uint64_t& cell) {
    if (cell != value_at(steps, steps.counts->step, row, column)) ++steps.counts->wrong;
  });
  ++steps.counts->step;
  write(argument);
}

}  // namespace

void upload(std::byte* device, const void* host, std::size_t bytes) {
  std::memcpy(device, host, bytes);
}

void download(void* host, const std::byte* device, std::size_t bytes) {
  std::memcpy(host, device, bytes);
}

StepCounts* make_counts() {
  return new StepCounts{};
}

void free_counts(StepCounts* counts) {
  delete counts;
}

void enqueue_write(Stream stream, const Steps& steps) {
  launch(stream, &write, const_cast<Steps*>(&steps));
}

void enqueue_step(Stream stream, const Steps& steps) {
  launch(stream, &step, const_cast<Steps*>(&steps));
}

}  // namespace penstock::test
