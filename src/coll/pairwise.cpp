// SPDX-License-Identifier: Apache-2.0
#include "coll/pairwise.hpp"

#include <algorithm>

#include "coll/schedule_builder.hpp"

namespace penstock::coll {

namespace {

std::vector<Region> regions(Buffer buffer, const std::vector<Block>& blocks) {
  std::vector<Region> all;
  all.reserve(blocks.size());
  for (const Block& block : blocks) all.push_back({buffer, block.offset, block.bytes});
  return all;
}

// In place, what has not been sent yet would be received over.
std::vector<Region> set_aside(ScheduleBuilder& builder, const std::vector<Region>& blocks) {
  std::size_t bytes = 0;
  for (const Region& block : blocks) bytes += block.bytes;
  const Region aside = builder.temporary(bytes);
  std::vector<Region> copies;
  std::size_t at = 0;
  for (const Region& block : blocks) {
    copies.push_back(aside.part(at, block.bytes));
    builder.copy(block, copies.back());
    at += block.bytes;
  }
  return copies;
}

Schedule by_pairs(const Shape& shape, int rank, int batch) {
  ScheduleBuilder builder;
  const std::vector<Region> to = regions(Buffer::output, shape.receives);
  const std::vector<Region> from =
      shape.in_place ? set_aside(builder, to) : regions(Buffer::input, shape.sends);
  if (!shape.in_place) builder.copy(from[rank], to[rank]);
  for (int step = 1; step < shape.ranks; ++step) {
    if (step > 1 && (step - 1) % batch == 0) builder.next_phase();
    const int next = (rank + step) % shape.ranks;
    const int before = (rank + shape.ranks - step) % shape.ranks;
    builder.receive(before, to[before]);
    builder.send(next, from[next]);
  }
  return builder.finish();
}

Shape with_equal_blocks(Shape shape) {
  shape.sends.clear();
  for (int peer = 0; peer < shape.ranks; ++peer)
    shape.sends.push_back({peer * shape.bytes(), shape.bytes()});
  shape.receives = shape.sends;
  return shape;
}

}  // namespace

Schedule pairwise_alltoall(const Shape& shape, int rank) {
  return by_pairs(with_equal_blocks(shape), rank, std::max(shape.batch, 1));
}

Schedule pairwise_alltoallv(const Shape& shape, int rank) {
  return by_pairs(shape, rank, std::max(shape.batch, 1));
}

Schedule nonblocking_alltoall(const Shape& shape, int rank) {
  return by_pairs(with_equal_blocks(shape), rank, shape.ranks);
}

Schedule nonblocking_alltoallv(const Shape& shape, int rank) {
  return by_pairs(shape, rank, shape.ranks);
}

}  // namespace penstock::coll
