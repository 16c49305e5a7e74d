// SPDX-License-Identifier: Apache-2.0
#include "coll/barrier.hpp"

namespace penstock::coll {

// Without a builder, which leaves out what has no bytes.
Schedule dissemination_barrier(const Shape& shape, int rank) {
  Schedule schedule;
  const int ranks = shape.ranks;
  for (int distance = 1; distance < ranks; distance *= 2) {
    Phase& phase = schedule.phases.emplace_back();
    phase.receives.push_back({(rank + ranks - distance) % ranks, {}, 0});
    phase.sends.push_back({(rank + distance) % ranks, {}});
  }
  return schedule;
}

}  // namespace penstock::coll
