// SPDX-License-Identifier: Apache-2.0
#include "coll/allgather.hpp"

#include <algorithm>

#include "coll/schedule_builder.hpp"

namespace penstock::coll {

namespace {

Region own_block(const Shape& shape, int rank) {
  const std::size_t bytes = shape.bytes();
  return shape.in_place ? output(shape.ranks * bytes).item(rank, bytes) : shape.source(bytes);
}

}  // namespace

Schedule ring_allgather(const Shape& shape, int rank) {
  ScheduleBuilder builder;
  const int ranks = shape.ranks;
  const Region all = output(ranks * shape.bytes());
  const auto block = [&](int number) { return all.item(number, shape.bytes()); };
  builder.copy(own_block(shape, rank), block(rank));
  for (int step = 1; step < ranks; ++step) {
    if (step > 1) builder.next_phase();
    builder.receive((rank + ranks - 1) % ranks, block((rank + ranks - step) % ranks));
    builder.send((rank + 1) % ranks, block((rank + ranks - step + 1) % ranks));
  }
  return builder.finish();
}

// Blocks lie in the temporary from this rank's on, and go around to the output at the end.
Schedule dissemination_allgather(const Shape& shape, int rank) {
  ScheduleBuilder builder;
  const int ranks = shape.ranks;
  const std::size_t bytes = shape.bytes();
  const Region turned = builder.temporary(ranks * bytes);
  builder.copy(own_block(shape, rank), turned.part(0, bytes));
  for (int have = 1; have < ranks; have *= 2) {
    const std::size_t moved = std::min(have, ranks - have) * bytes;
    builder.receive((rank + have) % ranks, turned.part(have * bytes, moved));
    builder.send((rank + ranks - have) % ranks, turned.part(0, moved));
    builder.next_phase();
  }
  const std::size_t before = rank * bytes;
  const std::size_t from_here = turned.bytes - before;
  builder.copy(turned.part(0, from_here), output(turned.bytes).part(before, from_here));
  builder.copy(turned.part(from_here, before), output(before));
  return builder.finish();
}

}  // namespace penstock::coll
