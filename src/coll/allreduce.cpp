// SPDX-License-Identifier: Apache-2.0
#include "coll/allreduce.hpp"

#include <numeric>

#include "coll/lanes.hpp"
#include "coll/reduction.hpp"

namespace penstock::coll {

namespace {

Members all_ranks(const Shape& shape, int rank) {
  Members members{std::vector<int>(shape.ranks), static_cast<std::size_t>(rank)};
  std::iota(members.ranks.begin(), members.ranks.end(), 0);
  return members;
}

Schedule flat_allreduce(const Shape& shape, int rank, Combine combine) {
  ScheduleBuilder builder;
  combine(builder, all_ranks(shape, rank), shape.element, shape.source(shape.bytes()),
          output(shape.bytes()));
  return builder.finish();
}

// A node's ranks combine a chunk each, each lane combines its chunk, and the node's ranks give each
// other the results: so all of a node's ranks use the network at once, each for its chunk alone.
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

Schedule two_shot_allreduce(const Shape& shape, int rank) {
  return flat_allreduce(shape, rank, combine_two_shot);
}

Schedule doubling_allreduce(const Shape& shape, int rank) {
  return flat_allreduce(shape, rank, combine_doubling);
}

Schedule lanes_allreduce(const Shape& shape, int rank) {
  return by_lanes(shape, rank, combine_two_shot);
}

Schedule lanes_doubling_allreduce(const Shape& shape, int rank) {
  return by_lanes(shape, rank, combine_doubling);
}

Schedule pairs_reduce_scatter_block(const Shape& shape, int rank) {
  ScheduleBuilder builder;
  const Region source = shape.source(shape.ranks * shape.bytes());
  const std::vector<Region> blocks = chunks(source, shape.element, shape.ranks);
  reduce_chunks(builder, all_ranks(shape, rank), blocks, output(shape.bytes()));
  return builder.finish();
}

}  // namespace penstock::coll
