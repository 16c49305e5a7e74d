// SPDX-License-Identifier: Apache-2.0
#include "jacobi/reference.hpp"

#include <algorithm>

namespace penstock::jacobi {
namespace {

// The grid and what lies beyond its sides.
class Plain {
 public:
  explicit Plain(const halo::Index<3>& cells)
      : rows_(cells[1] + 2),
        columns_(cells[2] + 2),
        values_(static_cast<std::size_t>((cells[0] + 2) * rows_ * columns_), high_side) {
    for (std::ptrdiff_t i = -1; i <= cells[0]; ++i) {
      for (std::ptrdiff_t j = -1; j <= cells[1]; ++j) {
        for (std::ptrdiff_t k = -1; k <= cells[2]; ++k) {
          if (i < 0 || j < 0 || k < 0) {
            at(i, j, k) = low_side;
          } else if (i < cells[0] && j < cells[1] && k < cells[2]) {
            at(i, j, k) = 0;
          }
        }
      }
    }
  }

  double& at(std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t k) {
    return values_[static_cast<std::size_t>(((i + 1) * rows_ + j + 1) * columns_ + k + 1)];
  }

 private:
  std::ptrdiff_t rows_;
  std::ptrdiff_t columns_;
  std::vector<double> values_;
};

std::vector<double> cells_of(Plain& plain, const halo::Index<3>& cells) {
  std::vector<double> values;
  for (std::ptrdiff_t i = 0; i < cells[0]; ++i) {
    for (std::ptrdiff_t j = 0; j < cells[1]; ++j) {
      for (std::ptrdiff_t k = 0; k < cells[2]; ++k) values.push_back(plain.at(i, j, k));
    }
  }
  return values;
}

double mean(Plain& values, std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t k) {
  double sum = 0;
  for (int a = -1; a <= 1; ++a) {
    for (int b = -1; b <= 1; ++b) {
      for (int c = -1; c <= 1; ++c) sum += values.at(i + a, j + b, k + c);
    }
  }
  return sum / 27;
}

// The largest change.
double iterate(const halo::Index<3>& cells, Plain& now, Plain& next) {
  double change = 0;
  for (std::ptrdiff_t i = 0; i < cells[0]; ++i) {
    for (std::ptrdiff_t j = 0; j < cells[1]; ++j) {
      for (std::ptrdiff_t k = 0; k < cells[2]; ++k) {
        const double value = mean(now, i, j, k);
        change = std::max(change, change_of(now.at(i, j, k), value));
        next.at(i, j, k) = value;
      }
    }
  }
  return change;
}

}  // namespace

Reference solve_serially(const Problem& problem) {
  Plain now(problem.cells);
  Plain next(problem.cells);
  Progress progress;
  for (int i = 1; i <= problem.iterations; ++i) {
    const double change = iterate(problem.cells, now, next);
    std::swap(now, next);
    progress.iterations = static_cast<std::uint64_t>(i);
    if (!is_checked(problem, i)) continue;
    progress.history.push_back(change);
    if (change < problem.tolerance) break;
  }
  return {progress, cells_of(now, problem.cells)};
}

}  // namespace penstock::jacobi
