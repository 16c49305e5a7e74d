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

// The same for a point that has all its copies in the block, given by the lowest one. All are loaded before any is
// used.
PENSTOCK_ANYWHERE inline void complete_inside(const Block& block, double* u, const Place& place) {
  const Layout whole = layout_of(block, nowhere);
  bool has_upper[3];
  std::size_t to_upper[3];
  for (int d = 0; d < 3; ++d) {
    const int last = block.points - 1;
    has_upper[d] = place.point[d] == last && place.element[d] + 1 < block.elements[d];
    to_upper[d] = whole.offset_along(d, 1, 0) - whole.offset_along(d, 0, last);
  }
  double* const lowest = u + whole.offset(place);
  const auto exists = [&](int x, int y, int z) {
    return (x == 0 || has_upper[0]) && (y == 0 || has_upper[1]) && (z == 0 || has_upper[2]);
  };
  const auto copy = [&](int x, int y, int z) -> double& {
    return lowest[x * to_upper[0] + y * to_upper[1] + z * to_upper[2]];
  };
  double value[2][2][2];
  for (int x = 0; x < 2; ++x)
    for (int y = 0; y < 2; ++y)
      for (int z = 0; z < 2; ++z) value[x][y][z] = exists(x, y, z) ? copy(x, y, z) : 0;
  const double total = ((value[0][0][0] + value[0][0][1]) + (value[0][1][0] + value[0][1][1])) +
                       ((value[1][0][0] + value[1][0][1]) + (value[1][1][0] + value[1][1][1]));
  for (int x = 0; x < 2; ++x)
    for (int y = 0; y < 2; ++y)
      for (int z = 0; z < 2; ++z)
        if (exists(x, y, z)) copy(x, y, z) = total;
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

// The points that an element shares with elements of the block alone, as three boxes: its upper sides in z, y and x.
// What lies on its lower sides is the lower element's.
PENSTOCK_ANYWHERE inline void shared_inside(const Block& block, const int (&element)[3], Box (&boxes)[3]) {
  int low[3];
  int high[3];
  bool shared[3];
  for (int d = 0; d < 3; ++d) {
    const bool is_first = element[d] == 0;
    const bool is_last = element[d] == block.elements[d] - 1;
    low[d] = is_first && !block.meets[d][0] ? 0 : 1;
    high[d] = is_last && block.meets[d][1] ? block.points - 2 : block.points - 1;
    shared[d] = !is_last;
  }
  for (int side = 2; side >= 0; --side) {
    Box& box = boxes[side];
    for (int d = 0; d < 3; ++d) {
      box.low[d] = d == side ? block.points - 1 : low[d];
      // The boxes before this one have the upper layers.
      box.count[d] = d == side ? (shared[side] ? 1 : 0) : high[d] - low[d] + (d > side && shared[d] ? 0 : 1);
    }
  }
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
