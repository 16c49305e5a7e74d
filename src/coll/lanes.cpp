// SPDX-License-Identifier: Apache-2.0
#include "coll/lanes.hpp"

namespace penstock::coll {

Members node_members(const Shape& shape, int rank) {
  const std::vector<int> order = node_order(shape);
  const int ranks = node_ranks(shape);
  const auto first = order.begin() + shape.node[rank] * ranks;
  return {{first, first + ranks}, static_cast<std::size_t>(shape.index[rank])};
}

Members lane_members(const Shape& shape, int rank) {
  const std::vector<int> order = node_order(shape);
  const int ranks = node_ranks(shape);
  Members lane{{}, static_cast<std::size_t>(shape.node[rank])};
  for (int at = shape.index[rank]; at < shape.ranks; at += ranks) lane.ranks.push_back(order[at]);
  return lane;
}

}  // namespace penstock::coll
