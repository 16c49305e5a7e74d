// SPDX-License-Identifier: Apache-2.0
// What the values must be: computed on the whole grid, point by point, without blocks, messages and
// the code of faces.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace penstock::faces {

using Triple = std::array<int, 3>;

class Reference {
 public:
  // `rank_elements` of a rank, which has them beside those of `ranks`. Without compute only points
  // that several ranks share are summed.
  Reference(Triple ranks, Triple rank_elements, int points, int shares, bool with_compute);

  // Of a point of an element of the whole grid.
  double value(const Triple& element, const Triple& point) const;
  // The same, without the shares in between: the sum of all copies, times their number for each
  // later share.
  double closed_form(const Triple& element, const Triple& point) const;

 private:
  // The copies along one dimension, as indices of the whole grid.
  struct Line {
    int count;
    int element[2];
    int point[2];
  };
  Line line_through(int d, int element, int point) const;
  bool is_summed(const std::array<Line, 3>& lines) const;

  Triple ranks_;
  Triple rank_elements_;
  int points_;
  int shares_;
  bool with_compute_;
};

// What a comparison has found.
struct Comparison {
  std::size_t compared = 0;
  std::size_t failed = 0;
  // Of the first that failed:
  Triple element{};
  Triple point{};
  double value = 0;
  double expected = 0;
};

// |a - b| / (|a| + |b|) < 1e-15. What is no number is equal to nothing.
bool is_equal(double a, double b);

// Compares some layers of elements: `values` are those of elements from `first` on, `count` in each
// dimension.
Comparison compare(const Reference& reference, const std::vector<double>& values,
                   const Triple& first, const Triple& count, int points);

}  // namespace penstock::faces
