// SPDX-License-Identifier: Apache-2.0
// Points, their copies and where they lie: the same code for the host and for kernels.
//
// A rank holds a block of elements of points * points * points values each. Elements that touch
// have copies of the same points. Along one dimension a point has one copy, or two where two
// elements meet there; the copies of a point are the combinations of those of its three dimensions.
// Copies of other ranks come with messages.
#pragma once

#include <cstddef>

#include "../common/box.hpp"
#include "../common/sides.hpp"

namespace penstock::faces {

using apps::Box;
using apps::directions;
using apps::nowhere;
using apps::opposite;
using apps::part_of;
using apps::Sides;

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
    return static_cast<std::size_t>(points[0]) * points[1] * points[2] * elements[0] * elements[1] *
           elements[2];
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
    return offset_along(0, place.element[0], place.point[0]) +
           offset_along(1, place.element[1], place.point[1]) +
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

// The whole block, for no direction; else what is sent to, and received from, the neighbour there:
// the points on that side, a single layer of them along each dimension in which the direction goes.
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

// Whether a direction goes nowhere but where the region's goes. Messages that hold points of a
// region are those of its parts.
PENSTOCK_ANYWHERE inline bool is_part(int direction, int region) {
  for (int d = 0; d < 3; ++d)
    if (part_of(direction, d) != 0 && part_of(direction, d) != part_of(region, d)) return false;
  return true;
}

// The points that the block shares with the neighbours of this direction and its parts, and with no
// others. Copies in the block count once, so coordinates go from 0 to elements * (points - 1).
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

// A copy of a point, here or beyond the end of the block.
struct Copy {
  bool exists;
  int direction;  // of the neighbour that has it: it lies in the message from there; nowhere: in
                  // the block
  std::size_t offset;  // in that message or in the block
};

// The copies of a point of a region are numbered by a bit for each dimension. Along those in which
// the region lies at an end of the block, the bit stands for the neighbour's copy; along the others
// for that of the element below, if there are two. `place` is the copy of number 0.
PENSTOCK_ANYWHERE inline Copy copy_of(const Block& block, int region, const Place& place,
                                      int number) {
  Copy copy{true, nowhere, 0};
  Layout layout;
  for (int d = 0, step = 1; d < 3; ++d, step *= 3) {
    const bool is_beyond = part_of(region, d) != 0 && (number >> d & 1) != 0;
    if (is_beyond) copy.direction += step * part_of(region, d);
    layout.points[d] = is_beyond ? 1 : block.points;
    layout.elements[d] = is_beyond ? 1 : block.elements[d];
  }
  for (int d = 0; d < 3; ++d) {
    const bool is_other = (number >> d & 1) != 0;
    const bool is_between = place.point[d] == 0 && place.element[d] > 0;
    if (!is_other)
      copy.offset += layout.offset_along(d, place.element[d], place.point[d]);
    else if (part_of(region, d) == 0)
      copy.offset += layout.offset_along(d, place.element[d] - 1, block.points - 1);
    copy.exists = copy.exists && (!is_other || part_of(region, d) != 0 || is_between);
  }
  return copy;
}

// Gives all copies in the block the sum of all copies, those of other ranks included. The sum is
// made of pairs along z, then y, then x, so that every rank comes to the same bits. All is read
// before anything is written, so that a thread's loads go together.
//
// Where `next` has messages the sum is packed, too: a neighbour gets this point's copies at the
// places at which it has sent its own.
PENSTOCK_ANYWHERE inline void complete(const Block& block, double* u, const Sides& received,
                                       const Sides& next, int region, const Place& place) {
  Copy copies[8];
  double value[8];
  for (int i = 0; i < 8; ++i) {
    copies[i] = copy_of(block, region, place, i);
    const double* const from =
        copies[i].direction == nowhere ? u : received.side[copies[i].direction];
    value[i] = copies[i].exists ? from[copies[i].offset] : 0;
  }
  const auto line = [&](int x, int y) { return value[x + 2 * y] + value[x + 2 * y + 4]; };
  const double total = (line(0, 0) + line(0, 1)) + (line(1, 0) + line(1, 1));
  for (int i = 0; i < 8; ++i) {
    double* const to = copies[i].direction == nowhere ? u : next.side[copies[i].direction];
    if (copies[i].exists && to != nullptr) to[copies[i].offset] = total;
  }
}

// The sides on which an element shares points with elements of the block alone: its upper ones.
// What lies on a lower side is the lower element's. Points that lie on several sides are those of
// the first of z, y and x.
struct UpperSides {
  int low[3];  // the points that are not shared with other ranks
  int high[3];
  bool shared[3];       // whether there is an element of the block beyond the side
  std::size_t next[3];  // from a point of the side to its copy there

  PENSTOCK_ANYWHERE bool has_on_z(int x, int y) const {
    return shared[2] && is_in(0, x) && is_in(1, y);
  }
  PENSTOCK_ANYWHERE bool has_on_y(int x, int z) const {
    return shared[1] && is_in(0, x) && is_below(2, z);
  }
  PENSTOCK_ANYWHERE bool has_on_x(int y, int z) const {
    return shared[0] && is_below(1, y) && is_below(2, z);
  }

 private:
  PENSTOCK_ANYWHERE bool is_in(int d, int point) const {
    return low[d] <= point && point <= high[d];
  }
  PENSTOCK_ANYWHERE bool is_below(int d, int point) const {
    return is_in(d, point) && !(shared[d] && point == high[d]);
  }
};

PENSTOCK_ANYWHERE inline UpperSides upper_sides_of(const Block& block, const int (&element)[3]) {
  const Layout whole = layout_of(block, nowhere);
  const int last = block.points - 1;
  UpperSides sides;
  for (int d = 0; d < 3; ++d) {
    const bool is_last = element[d] == block.elements[d] - 1;
    sides.low[d] = element[d] == 0 && !block.meets[d][0] ? 0 : 1;
    sides.high[d] = is_last && block.meets[d][1] ? last - 1 : last;
    sides.shared[d] = !is_last;
    sides.next[d] = whole.offset_along(d, 1, 0) - whole.offset_along(d, 0, last);
  }
  return sides;
}

// Sums what an element shares on its upper sides along y and z. The work of one of points * points
// threads, which have the points (a, b) of both sides. All is read before anything is written, so
// that a thread's loads go together. Sums are those of complete(): pairs along z, then y, then x.
PENSTOCK_ANYWHERE inline void sum_along_y_and_z(const Block& block, const UpperSides& sides,
                                                double* u, const int (&element)[3], int a, int b) {
  const Layout whole = layout_of(block, nowhere);
  const auto& next = sides.next;
  const int last = block.points - 1;
  const bool in_z = sides.has_on_z(a, b);
  const bool in_y = sides.has_on_y(a, b);
  const bool also_x = sides.shared[0] && a == last;
  const bool also_y = sides.shared[1] && b == last;
  double* const z = u + whole.offset({{element[0], element[1], element[2]}, {a, b, last}});
  double* const y = u + whole.offset({{element[0], element[1], element[2]}, {a, last, b}});
  const auto line = [&](const double* at) { return at[0] + at[next[2]]; };
  const auto plane = [&](const double* at) {
    return also_y ? line(at) + line(at + next[1]) : line(at);
  };
  const auto flat = [&](const double* at) { return at[0] + at[next[1]]; };
  double on_z = 0;
  double on_y = 0;
  if (in_z) on_z = also_x ? plane(z) + plane(z + next[0]) : plane(z);
  if (in_y) on_y = also_x ? flat(y) + flat(y + next[0]) : flat(y);
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
}

// The same along x alone, for a point (y, z) of that side.
PENSTOCK_ANYWHERE inline void sum_along_x(const Block& block, const UpperSides& sides, double* u,
                                          const int (&element)[3], int y, int z) {
  if (!sides.has_on_x(y, z)) return;
  double* const x =
      u + layout_of(block, nowhere)
              .offset({{element[0], element[1], element[2]}, {block.points - 1, y, z}});
  x[0] = x[sides.next[0]] = x[0] + x[sides.next[0]];
}

// All that an element shares on its upper sides.
inline void sum_upper_sides(const Block& block, double* u, const int (&element)[3]) {
  const UpperSides sides = upper_sides_of(block, element);
  for (int b = 0; b < block.points; ++b)
    for (int a = 0; a < block.points; ++a) {
      sum_along_y_and_z(block, sides, u, element, a, b);
      sum_along_x(block, sides, u, element, a, b);
    }
}

// From indices of the whole grid, so that a wrong one changes the value.
PENSTOCK_ANYWHERE inline double initial_value(const int (&element)[3], const int (&point)[3]) {
  return element[2] * 10000.0 + element[1] * 100.0 + element[0] + point[2] * 1e-2 +
         point[1] * 1e-4 + point[0] * 1e-6;
}

PENSTOCK_ANYWHERE inline double initial_value(const Block& block, const Place& place) {
  const int element[3] = {block.first[0] + place.element[0], block.first[1] + place.element[1],
                          block.first[2] + place.element[2]};
  return initial_value(element, place.point);
}

}  // namespace penstock::faces
