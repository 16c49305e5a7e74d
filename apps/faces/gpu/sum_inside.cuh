// SPDX-License-Identifier: Apache-2.0
// The sums inside a rank's block. What bounds them is how the values come through the L2 cache,
// which the array of the papers' small problem nearly fills: hence the order in which they are
// taken (docs/results/applications.md).
#pragma once

#include <gpu_runtime.hpp>

#include "../geometry.hpp"

namespace penstock::faces::gpu {

// How the sums are shared out among thread blocks: first all along x, then the others.
struct Inside {
  static constexpr unsigned threads = 384;

  explicit Inside(const Block& block)
      : points(static_cast<unsigned>(block.points)),
        lines(static_cast<unsigned>(block.elements[1]) * static_cast<unsigned>(block.elements[2])) {
    const auto length = static_cast<unsigned>(block.elements[0]);
    const unsigned pairs = across() - 1;
    pieces = (length - 1 + pairs - 1) / pairs;
    groups = (length + together() - 1) / together();
  }
  unsigned blocks() const { return blocks_along_x() + lines * groups; }
  PENSTOCK_ANYWHERE unsigned blocks_along_x() const { return lines * points * pieces; }
  PENSTOCK_ANYWHERE unsigned side() const { return points * points; }
  // Elements that a thread block takes for the sums along x, two threads a row; points are at
  // most 64.
  PENSTOCK_ANYWHERE unsigned across() const { return threads / (2 * points); }
  // Elements that it takes for the others.
  PENSTOCK_ANYWHERE unsigned together() const { return threads > side() ? threads / side() : 1; }

  unsigned points;  // along an edge of an element
  unsigned lines;   // of elements, along x
  unsigned pieces;  // of a line: thread blocks for a plane of its points, along x
  unsigned groups;  // of a line: thread blocks for the others
};

// One plane of the points of some elements of a line. A thread has one copy, the first or the last
// point of a row, and threads follow each other as the copies do in memory: those that lie in one
// line of the cache are loaded and stored together. Pieces overlap by an element: the one has the
// last points of its rows and the other the first.
__device__ inline void sum_piece_along_x(const Block& block, double* u, const Inside& inside,
                                         unsigned number) {
  __shared__ double copies[Inside::threads];
  const int line = static_cast<int>(number / inside.pieces / inside.points);
  const int z = static_cast<int>(number / inside.pieces % inside.points);
  const int y = static_cast<int>(threadIdx.x / 2 % inside.points);
  const bool is_lower = threadIdx.x % 2 != 0;  // the last point of the lower of the two elements
  const int pair = static_cast<int>(threadIdx.x / (2 * inside.points)) - (is_lower ? 0 : 1);
  const int pairs = static_cast<int>(inside.across()) - 1;
  const int x = static_cast<int>(number % inside.pieces) * pairs + pair;
  const Place lower{{x, line % block.elements[1], line / block.elements[1]},
                    {block.points - 1, y, z}};
  const UpperSides sides = upper_sides_of(block, lower.element);
  const bool exists =
      0 <= pair && pair < pairs && x + 1 < block.elements[0] && sides.has_on_x(y, z);
  double* const copy = u + layout_of(block, nowhere).offset(lower) + (is_lower ? 0 : sides.next[0]);
  double value = 0;
  if (exists) copies[threadIdx.x] = value = *copy;
  __syncthreads();
  const unsigned to_other = 2 * inside.points - 1;
  if (exists) *copy = value + copies[is_lower ? threadIdx.x + to_other : threadIdx.x - to_other];
}

// The upper sides along y and z of some elements of a line.
__device__ inline void sum_group_along_y_and_z(const Block& block, double* u, const Inside& inside,
                                               unsigned number) {
  const int line = static_cast<int>(number / inside.groups);
  const int first = static_cast<int>(number % inside.groups * inside.together());
  for (unsigned i = threadIdx.x; i < inside.together() * inside.side(); i += Inside::threads) {
    const int element[3] = {first + static_cast<int>(i / inside.side()), line % block.elements[1],
                            line / block.elements[1]};
    if (element[0] >= block.elements[0]) return;
    sum_along_y_and_z(block, upper_sides_of(block, element), u, element,
                      static_cast<int>(i % inside.points),
                      static_cast<int>(i / inside.points % inside.points));
  }
}

// `known_points` are the block's, which the compiler makes good use of, or 0. Two that follow each
// other go through the array in opposite directions: what the one has touched last is still in the
// cache.
template <int known_points>
__global__ void __launch_bounds__(Inside::threads)
    sum_inside(Block block, double* u, Inside inside, bool downward) {
  penstock::vendor::let_successor_in();
  if (known_points != 0) {
    block.points = known_points;
    inside.points = known_points;
  }
  const unsigned number = downward ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
  penstock::vendor::await_predecessor();
  if (number < inside.blocks_along_x())
    sum_piece_along_x(block, u, inside, number);
  else
    sum_group_along_y_and_z(block, u, inside, number - inside.blocks_along_x());
}

}  // namespace penstock::faces::gpu
