// SPDX-License-Identifier: Apache-2.0
// A lane has the ranks of one index, one on each node. A node's ranks combine a chunk each, each
// lane combines its chunk, and the node's ranks give each other the results: so all of a node's
// ranks use the network at once, each for its chunk alone.
#include "coll/lanes.hpp"

#include "coll/allreduce.hpp"

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

namespace {

Schedule by_lanes(const Shape& shape, int rank, Combine combine) {
  ScheduleBuilder builder;
  const Members node = node_members(shape, rank);
  const std::vector<Region> from = chunks(shape.source(shape.bytes()), shape.element, node.count());
  const std::vector<Region> results = chunks(output(shape.bytes()), shape.element, node.count());
  const Region mine = results[node.self];
  reduce_chunks(builder, node, from, mine);
  combine(builder, lane_members(shape, rank), shape.element, mine, mine);
  builder.next_phase();
  share_chunks(builder, node, results);
  return builder.finish();
}

}  // namespace

Schedule lanes_allreduce(const Shape& shape, int rank) {
  return by_lanes(shape, rank, combine_two_shot);
}

Schedule lanes_doubling_allreduce(const Shape& shape, int rank) {
  return by_lanes(shape, rank, combine_doubling);
}

}  // namespace penstock::coll
