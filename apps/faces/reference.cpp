// SPDX-License-Identifier: Apache-2.0
#include "faces/reference.hpp"

#include <cmath>

namespace penstock::faces {
namespace {

double first_value(const Triple& element, const Triple& point) {
  return element[2] * 10000.0 + element[1] * 100.0 + element[0] + point[2] * 1e-2 +
         point[1] * 1e-4 + point[0] * 1e-6;
}

}  // namespace

Reference::Reference(Triple ranks, Triple rank_elements, int points, int shares, bool with_compute)
    : ranks_(ranks),
      rank_elements_(rank_elements),
      points_(points),
      shares_(shares),
      with_compute_(with_compute) {}

Reference::Line Reference::line_through(int d, int element, int point) const {
  const auto dimension = static_cast<std::size_t>(d);
  const int elements = ranks_[dimension] * rank_elements_[dimension];
  if (point == points_ - 1 && element + 1 < elements)
    return {2, {element, element + 1}, {point, 0}};
  if (point == 0 && element > 0) return {2, {element - 1, element}, {points_ - 1, 0}};
  return {1, {element, 0}, {point, 0}};
}

bool Reference::is_summed(const std::array<Line, 3>& lines) const {
  bool is_shared = false;
  bool is_remote = false;
  for (std::size_t d = 0; d < 3; ++d) {
    if (lines[d].count == 1) continue;
    is_shared = true;
    if (lines[d].element[0] / rank_elements_[d] != lines[d].element[1] / rank_elements_[d])
      is_remote = true;
  }
  return with_compute_ ? is_shared : is_remote;
}

// At every share each copy takes the sum of all: along z, then y, then x the two copies of a pair
// both become their sum.
double Reference::value(const Triple& element, const Triple& point) const {
  std::array<Line, 3> lines{};
  for (int d = 0; d < 3; ++d) {
    const auto dimension = static_cast<std::size_t>(d);
    lines[dimension] = line_through(d, element[dimension], point[dimension]);
  }
  if (shares_ == 0 || !is_summed(lines)) return first_value(element, point);
  double copies[2][2][2] = {};
  for (int z = 0; z < lines[2].count; ++z)
    for (int y = 0; y < lines[1].count; ++y)
      for (int x = 0; x < lines[0].count; ++x)
        copies[z][y][x] =
            first_value({lines[0].element[x], lines[1].element[y], lines[2].element[z]},
                        {lines[0].point[x], lines[1].point[y], lines[2].point[z]});
  for (int share = 0; share < shares_; ++share) {
    for (int y = 0; y < 2 && lines[2].count == 2; ++y)
      for (int x = 0; x < 2; ++x)
        copies[0][y][x] = copies[1][y][x] = copies[0][y][x] + copies[1][y][x];
    for (int z = 0; z < 2 && lines[1].count == 2; ++z)
      for (int x = 0; x < 2; ++x)
        copies[z][0][x] = copies[z][1][x] = copies[z][0][x] + copies[z][1][x];
    for (int z = 0; z < 2 && lines[0].count == 2; ++z)
      for (int y = 0; y < 2; ++y)
        copies[z][y][0] = copies[z][y][1] = copies[z][y][0] + copies[z][y][1];
  }
  return copies[0][0][0];
}

double Reference::closed_form(const Triple& element, const Triple& point) const {
  std::array<Line, 3> lines{};
  for (int d = 0; d < 3; ++d) {
    const auto dimension = static_cast<std::size_t>(d);
    lines[dimension] = line_through(d, element[dimension], point[dimension]);
  }
  if (shares_ == 0 || !is_summed(lines)) return first_value(element, point);
  double sum = 0;
  for (int z = 0; z < lines[2].count; ++z)
    for (int y = 0; y < lines[1].count; ++y)
      for (int x = 0; x < lines[0].count; ++x)
        sum += first_value({lines[0].element[x], lines[1].element[y], lines[2].element[z]},
                           {lines[0].point[x], lines[1].point[y], lines[2].point[z]});
  return sum * std::pow(lines[0].count * lines[1].count * lines[2].count, shares_ - 1);
}

bool is_equal(double a, double b) {
  return a == b || std::abs(a - b) / (std::abs(a) + std::abs(b)) < 1e-15;
}

Comparison compare(const Reference& reference, const std::vector<double>& values,
                   const Triple& first, const Triple& count, int points) {
  Comparison result;
  const double* value = values.data();
  for (int kz = 0; kz < count[2]; ++kz)
    for (int ky = 0; ky < count[1]; ++ky)
      for (int kx = 0; kx < count[0]; ++kx) {
        const Triple element{first[0] + kx, first[1] + ky, first[2] + kz};
        for (int iz = 0; iz < points; ++iz)
          for (int iy = 0; iy < points; ++iy)
            for (int ix = 0; ix < points; ++ix, ++value) {
              const double expected = reference.value(element, {ix, iy, iz});
              ++result.compared;
              if (is_equal(*value, expected)) continue;
              if (result.failed++ == 0) {
                result.element = element;
                result.point = {ix, iy, iz};
                result.value = *value;
                result.expected = expected;
              }
            }
      }
  return result;
}

}  // namespace penstock::faces
