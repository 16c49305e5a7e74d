// SPDX-License-Identifier: Apache-2.0
#include "coll/neighbors.hpp"

#include "coll/schedule_builder.hpp"

namespace penstock::coll {

namespace {

// What this rank has for that one, or gets from it, in the order that both have.
std::vector<Region> regions_with(int rank, const std::vector<int>& peers, Buffer buffer,
                                 const std::vector<Block>& blocks) {
  std::vector<Region> found;
  for (std::size_t edge = 0; edge < peers.size(); ++edge)
    if (peers[edge] == rank) found.push_back({buffer, blocks[edge].offset, blocks[edge].bytes});
  return found;
}

void copy_own(ScheduleBuilder& builder, const Shape& shape, int rank) {
  const auto from = regions_with(rank, shape.destinations, Buffer::input, shape.sends);
  const auto to = regions_with(rank, shape.sources, Buffer::output, shape.receives);
  for (std::size_t edge = 0; edge < from.size(); ++edge) builder.copy(from[edge], to[edge]);
}

}  // namespace

Schedule nonblocking_neighbors(const Shape& shape, int rank) {
  ScheduleBuilder builder;
  copy_own(builder, shape, rank);
  for (std::size_t edge = 0; edge < shape.sources.size(); ++edge) {
    const Block& block = shape.receives[edge];
    if (shape.sources[edge] != rank)
      builder.receive(shape.sources[edge], {Buffer::output, block.offset, block.bytes});
  }
  for (std::size_t edge = 0; edge < shape.destinations.size(); ++edge) {
    const Block& block = shape.sends[edge];
    if (shape.destinations[edge] != rank)
      builder.send(shape.destinations[edge], {Buffer::input, block.offset, block.bytes});
  }
  return builder.finish();
}

}  // namespace penstock::coll
