// SPDX-License-Identifier: Apache-2.0
#include "cg/reference.hpp"

#include <algorithm>
#include <cmath>

namespace penstock::cg {
namespace {

using Numbers = std::vector<double>;

template <class Cell>
void for_cells(const halo::Index<3>& cells, Cell cell) {
  std::size_t at = 0;
  for (std::ptrdiff_t i = 0; i < cells[0]; ++i) {
    for (std::ptrdiff_t j = 0; j < cells[1]; ++j) {
      for (std::ptrdiff_t k = 0; k < cells[2]; ++k) cell(halo::Index<3>{i, j, k}, at++);
    }
  }
}

// A zero around all cells stands for what the grid does not have.
Numbers product(const halo::Index<3>& cells, const Numbers& x) {
  const halo::Index<3> extents{cells[0] + 2, cells[1] + 2, cells[2] + 2};
  Numbers array(static_cast<std::size_t>(extents[0] * extents[1] * extents[2]));
  const auto around = halo::row_major<3>(array.data(), extents);
  for_cells(cells, [&](const halo::Index<3>& at, std::size_t number) {
    around(at[0] + 1, at[1] + 1, at[2] + 1) = x[number];
  });
  Numbers result(x.size());
  for_cells(cells, [&](const halo::Index<3>& at, std::size_t number) {
    result[number] =
        matrix_row(&around(at[0] + 1, at[1] + 1, at[2] + 1), extents[1] * extents[2], extents[2]);
  });
  return result;
}

Numbers right_sides(const halo::Index<3>& cells) {
  Numbers right;
  for_cells(cells,
            [&](const halo::Index<3>& at, std::size_t) { right.push_back(right_side(at, cells)); });
  return right;
}

double dot(const Numbers& a, const Numbers& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

History solve_serially(const Problem& problem) {
  Numbers residual = right_sides(problem.cells);
  Numbers direction = residual;
  double before = dot(residual, residual);
  const double target = before * problem.tolerance * problem.tolerance;
  History history;
  while (before > target && history.size() < static_cast<std::size_t>(problem.iterations)) {
    const Numbers curved = product(problem.cells, direction);
    const double length = before / dot(direction, curved);
    for (std::size_t i = 0; i < residual.size(); ++i) residual[i] -= length * curved[i];
    const double now = dot(residual, residual);
    for (std::size_t i = 0; i < residual.size(); ++i)
      direction[i] = residual[i] + now / before * direction[i];
    history.push_back(before = now);
  }
  return history;
}

double largest_residual(const halo::Index<3>& cells, const std::vector<double>& solution) {
  const Numbers right = right_sides(cells);
  const Numbers curved = product(cells, solution);
  double largest = 0;
  for (std::size_t i = 0; i < right.size(); ++i)
    largest = std::max(largest, std::abs(right[i] - curved[i]));
  return largest;
}

}  // namespace penstock::cg
