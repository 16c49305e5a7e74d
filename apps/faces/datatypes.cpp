// SPDX-License-Identifier: Apache-2.0
#include "faces/datatypes.hpp"

namespace penstock::faces {
namespace {

// MPI counts the slowest dimension first: elements, then the points of each.
apps::Subarray subarray(const Block& block, int direction) {
  const Layout all = layout_of(block, nowhere), part = layout_of(block, direction);
  const Place first = on_side(block, direction, Place{});
  apps::Subarray::Index extents, counts, starts;
  const auto add = [&](int extent, int count, int start) {
    extents.push_back(extent);
    counts.push_back(count);
    starts.push_back(start);
  };
  for (int d = 2; d >= 0; --d) add(all.elements[d], part.elements[d], first.element[d]);
  for (int d = 2; d >= 0; --d) add(all.points[d], part.points[d], first.point[d]);
  return {extents, counts, starts};
}

}  // namespace

apps::MessagesInPlace messages_in_place(const Block& block, double* values,
                                        const std::vector<apps::Neighbour>& neighbours) {
  apps::MessagesInPlace messages{values, {}, {}};
  for (const apps::Neighbour& neighbour : neighbours)
    messages.sent.push_back(subarray(block, neighbour.direction));
  return messages;
}

}  // namespace penstock::faces
