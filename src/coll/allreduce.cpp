// SPDX-License-Identifier: Apache-2.0
#include "coll/allreduce.hpp"

#include <numeric>

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

}  // namespace

Schedule two_shot_allreduce(const Shape& shape, int rank) {
  return flat_allreduce(shape, rank, combine_two_shot);
}

Schedule doubling_allreduce(const Shape& shape, int rank) {
  return flat_allreduce(shape, rank, combine_doubling);
}

Schedule pairs_reduce_scatter_block(const Shape& shape, int rank) {
  ScheduleBuilder builder;
  const Region source = shape.source(shape.ranks * shape.bytes());
  const std::vector<Region> blocks = chunks(source, shape.element, shape.ranks);
  reduce_chunks(builder, all_ranks(shape, rank), blocks, output(shape.bytes()));
  return builder.finish();
}

}  // namespace penstock::coll
