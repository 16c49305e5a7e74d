// SPDX-License-Identifier: Apache-2.0
// Points, their copies and where they lie: the same code for the host and for kernels.
//
// A rank holds a block of elements of points * points * points values each. Elements that touch have copies of the same
// points. Along one dimension a point has one copy, or two where two elements meet there; the copies of a point are the
// combinations of those of its three dimensions. Copies of other ranks come with messages.
#pragma once

#include <cstddef>

#include "../common/box.hpp"
#include "../common/sides.hpp"

namespace penstock::faces {

using examples::Box;
using examples::directions;
using examples::nowhere;
using examples::opposite;
using examples::part_of;
using examples::Sides;

struct Block {
  int points;        // along an edge of an element
  int elements[3];   // of the rank, in x, y and z
  int first[3];      // element of the whole grid
  bool meets[3][2];  // whether another rank's elements lie on the lower and on the upper side
};

// A point of an element of the block.
struct Place {
  int element[3];
  int point[3];
};

// How points of elements lie in an array: x fastest, points before elements.
struct Layout {
  int points[3];
  int elements[3];

  PENSTOCK_ANYWHERE std::size_t size() const {
    return static_cast<std::size_t>(points[0]) * points[1] * points[2] * elements[0] * elements[1] * elements[2];
  }

  // Offsets of the three dimensions add up.
  PENSTOCK_ANYWHERE std::size_t offset_along(int dimension, int element, int point) const {
    std::size_t per_point = 1;
    std::size_t per_element = static_cast<std::size_t>(points[0]) * points[1] * points[2];
    for (int d = 0; d < dimension; ++d) {
      per_point *= points[d];
      per_element *= elements[d];
    }
    return per_element * element + per_point * point;
  }

  PENSTOCK_ANYWHERE std::size_t offset(const Place& place) const {
    return offset_along(0, place.element[0], place.point[0]) + offset_along(1, place.element[1], place.point[1]) +
           offset_along(2, place.element[2], place.point[2]);
  }

  // The place at an offset of less than 2^32.
  PENSTOCK_ANYWHERE Place place(unsigned offset) const {
    Place place;
    for (int d = 0; d < 3; ++d) {
      place.point[d] = static_cast<int>(offset % points[d]);
      offset /= points[d];
    }
    for (int d = 0; d < 2; ++d) {
      place.element[d] = static_cast<int>(offset % elements[d]);
      offset /= elements[d];
    }
    place.element[2] = static_cast<int>(offset);
    return place;
  }
};

// The whole block, for no direction; else what is sent to, and received from, the neighbour there: the points on that
// side, a single layer of them along each dimension in which the direction goes.
PENSTOCK_ANYWHERE inline Layout layout_of(const Block& block, int direction) {
  Layout layout;
  for (int d = 0; d < 3; ++d) {
    const bool whole = part_of(direction, d) == 0;
    layout.points[d] = whole ? block.points : 1;
    layout.elements[d] = whole ? block.elements[d] : 1;
  }
  return layout;
}

// From a place in a message to the place in the block of its sender.
PENSTOCK_ANYWHERE inline Place on_side(const Block& block, int direction, Place place) {
  for (int d = 0; d < 3; ++d) {
    if (part_of(direction, d) == 0) continue;
    const bool upper = part_of(direction, d) > 0;
    place.element[d] = upper ? block.elements[d] - 1 : 0;
    place.point[d] = upper ? block.points - 1 : 0;
  }
  return place;
}

// Whether there is a rank in that direction. The grid of ranks is a box.
PENSTOCK_ANYWHERE inline bool has_neighbour(const Block& block, int direction) {
  for (int d = 0; d < 3; ++d) {
    const int part = part_of(direction, d);
    if (part != 0 && !block.meets[d][part > 0]) return false;
  }
  return direction != nowhere;
}

// Along one dimension: the two copies that a point may have, the lower first. `beyond` is -1 or 1 where a neighbour has
// it, and the place is that in its message.
struct Copies {
  bool exists[2];
  int element[2];
  int point[2];
  int beyond[2];
};

PENSTOCK_ANYWHERE inline Copies copies_along(const Block& block, int d, int element, int point) {
  const int last = block.points - 1;
  if (point != 0 && point != last) return {{true, false}, {element, 0}, {point, 0}, {0, 0}};
  const int upper = point == last ? element + 1 : element;  // of the two elements that may meet here
  const bool has_lower = upper > 0;
  const bool has_upper = upper < block.elements[d];
  return {{has_lower || block.meets[d][0], has_upper || block.meets[d][1]},
          {has_lower ? upper - 1 : 0, has_upper ? upper : 0},
          {has_lower ? last : 0, 0},
          {has_lower ? 0 : -1, has_upper ? 0 : 1}};
}

// Gives all copies in the block the sum of all copies, those of other ranks included. The sum is made of pairs along z,
// then y, then x, so that every rank comes to the same bits.
PENSTOCK_ANYWHERE inline void complete(const Block& block, double* u, const Sides& received, const Place& place) {
  const Layout whole = layout_of(block, nowhere);
  Copies copies[3];
  std::size_t offset[3][2];
  for (int d = 0; d < 3; ++d) {
    copies[d] = copies_along(block, d, place.element[d], place.point[d]);
    for (int i = 0; i < 2; ++i) offset[d][i] = whole.offset_along(d, copies[d].element[i], copies[d].point[i]);
  }
  const auto value = [&](int x, int y, int z) {
    const int beyond = copies[0].beyond[x] + 3 * copies[1].beyond[y] + 9 * copies[2].beyond[z];
    if (beyond == 0) return u[offset[0][x] + offset[1][y] + offset[2][z]];
    const Place there{{copies[0].element[x], copies[1].element[y], copies[2].element[z]},
                      {copies[0].point[x], copies[1].point[y], copies[2].point[z]}};
    return received.side[nowhere + beyond][layout_of(block, nowhere + beyond).offset(there)];
  };
  double total = 0;
  for (int x = 0; x < 2; ++x) {
    double plane = 0;
    for (int y = 0; y < 2; ++y) {
      double line = 0;
      for (int z = 0; z < 2; ++z)
        if (copies[0].exists[x] && copies[1].exists[y] && copies[2].exists[z]) line += value(x, y, z);
      plane += line;
    }
    total += plane;
  }
  const auto is_here = [&](int d, int i) { return copies[d].exists[i] && copies[d].beyond[i] == 0; };
  for (int x = 0; x < 2; ++x)
    for (int y = 0; y < 2; ++y)
      for (int z = 0; z < 2; ++z)
        if (is_here(0, x) && is_here(1, y) && is_here(2, z)) u[offset[0][x] + offset[1][y] + offset[2][z]] = total;
}

// The points that the block shares with the neighbours of this direction and its parts, and with no others. Copies in
// the block count once, so coordinates go from 0 to elements * (points - 1).
PENSTOCK_ANYWHERE inline Box region_of(const Block& block, int direction) {
  Box box;
  for (int d = 0; d < 3; ++d) {
    const int last = block.elements[d] * (block.points - 1);
    const int part = part_of(direction, d);
    const int low = block.meets[d][0] ? 1 : 0;
    const int high = block.meets[d][1] ? last - 1 : last;
    box.low[d] = part == 0 ? low : part < 0 ? 0 : last;
    box.count[d] = part == 0 ? high - low + 1 : 1;
  }
  return box;
}

// One of the copies of a point given by such coordinates.
PENSTOCK_ANYWHERE inline Place place_of(const Block& block, const int (&at)[3]) {
  Place place;
  for (int d = 0; d < 3; ++d) {
    const int step = block.points - 1;
    place.element[d] = at[d] / step;
    place.point[d] = at[d] % step;
    if (place.element[d] < block.elements[d]) continue;
    place.element[d] = block.elements[d] - 1;
    place.point[d] = step;
  }
  return place;
}

// Sums what an element shares on its upper sides with elements of the block alone; what lies on its lower sides is the
// lower element's. The work of one of points * points threads, which have the points (a, b) of each side. All is read
// before anything is written, so that a thread's loads go together.
PENSTOCK_ANYWHERE inline void sum_upper_sides(const Block& block, double* u, const int (&element)[3], int a, int b) {
  const int n = block.points;
  const Layout whole = layout_of(block, nowhere);
  int low[3];
  int high[3];
  bool shared[3];
  std::size_t next[3];  // from a point of an upper side to its copy in the next element
  for (int d = 0; d < 3; ++d) {
    const bool is_last = element[d] == block.elements[d] - 1;
    low[d] = element[d] == 0 && !block.meets[d][0] ? 0 : 1;
    high[d] = is_last && block.meets[d][1] ? n - 2 : n - 1;
    shared[d] = !is_last;
    next[d] = whole.offset_along(d, 1, 0) - whole.offset_along(d, 0, n - 1);
  }
  double* const first = u + whole.offset({{element[0], element[1], element[2]}, {0, 0, 0}});
  const std::size_t row = static_cast<std::size_t>(n);
  const auto is_in = [&](int d, int point) { return low[d] <= point && point <= high[d]; };
  // Points that lie on several sides are those of the first of z, y and x.
  const auto is_below = [&](int d, int point) { return low[d] <= point && point <= (shared[d] ? n - 2 : high[d]); };
  const bool in_z = shared[2] && is_in(0, a) && is_in(1, b);
  const bool in_y = shared[1] && is_in(0, a) && is_below(2, b);
  const bool in_x = shared[0] && is_below(1, a) && is_below(2, b);
  const bool also_x = shared[0] && a == n - 1;
  const bool also_y = shared[1] && b == n - 1;
  double* const z = first + ((row - 1) * row + static_cast<std::size_t>(b)) * row + static_cast<std::size_t>(a);
  double* const y = first + (static_cast<std::size_t>(b) * row + row - 1) * row + static_cast<std::size_t>(a);
  double* const x = first + (static_cast<std::size_t>(b) * row + static_cast<std::size_t>(a)) * row + row - 1;
  // Sums are those of complete(): pairs along z, then y, then x.
  const auto line = [&](const double* at) { return at[0] + at[next[2]]; };
  const auto plane = [&](const double* at) { return also_y ? line(at) + line(at + next[1]) : line(at); };
  const auto flat = [&](const double* at) { return at[0] + at[next[1]]; };
  double on_z = 0;
  double on_y = 0;
  double on_x = 0;
  if (in_z) on_z = also_x ? plane(z) + plane(z + next[0]) : plane(z);
  if (in_y) on_y = also_x ? flat(y) + flat(y + next[0]) : flat(y);
  if (in_x) on_x = x[0] + x[next[0]];
  for (int i = 0; i < 2; ++i) {
    const std::size_t to_x = i == 0 ? 0 : next[0];
    if (i == 1 && !also_x) break;
    for (int k = 0; k < 2 && in_z; ++k) {
      if (k == 1 && !also_y) break;
      const std::size_t to_y = k == 0 ? 0 : next[1];
      z[to_x + to_y] = z[to_x + to_y + next[2]] = on_z;
    }
    if (in_y) y[to_x] = y[to_x + next[1]] = on_y;
  }
  if (in_x) x[0] = x[next[0]] = on_x;
}

// From indices of the whole grid, so that a wrong one changes the value.
PENSTOCK_ANYWHERE inline double initial_value(const int (&element)[3], const int (&point)[3]) {
  return element[2] * 10000.0 + element[1] * 100.0 + element[0] + point[2] * 1e-2 + point[1] * 1e-4 + point[0] * 1e-6;
}

PENSTOCK_ANYWHERE inline double initial_value(const Block& block, const Place& place) {
  const int element[3] = {block.first[0] + place.element[0], block.first[1] + place.element[1],
                          block.first[2] + place.element[2]};
  return initial_value(element, place.point);
}

}  // namespace penstock::faces
