// SPDX-License-Identifier: Apache-2.0
// A lane has the ranks of one index, one on each node. A node's ranks combine a chunk each, each
// lane combines its chunk, and the node's ranks give each other the results: so all of a node's
// ranks use the network at once, each for its chunk alone.
#include "coll/allreduce.hpp"
#include "coll/reduction.hpp"

namespace penstock::coll {

namespace {

Members node_members(const Shape& shape, const std::vector<int>& order, int rank) {
  const int ranks = node_ranks(shape);
  const int position = shape.node[rank] * ranks;
  const auto first = order.begin() + position;
  return {{first, first + ranks}, static_cast<std::size_t>(shape.index[rank])};
}

Members lane_members(const Shape& shape, const std::vector<int>& order, int rank) {
  Members lane{{}, static_cast<std::size_t>(shape.node[rank])};
  for (int at = shape.index[rank]; at < shape.ranks; at += node_ranks(shape))
    lane.ranks.push_back(order[at]);
  return lane;
}

Schedule by_lanes(const Shape& shape, int rank, Combine combine) {
  ScheduleBuilder builder;
  const std::vector<int> order = node_order(shape);
  const Members node = node_members(shape, order, rank);
  const std::vector<Region> from = chunks(shape.source(shape.bytes()), shape.element, node.count());
  const std::vector<Region> results = chunks(output(shape.bytes()), shape.element, node.count());
  const Region mine = results[node.self];
  reduce_chunks(builder, node, from, mine);
  combine(builder, lane_members(shape, order, rank), shape.element, mine, mine);
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
