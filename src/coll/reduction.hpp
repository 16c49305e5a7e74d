// SPDX-License-Identifier: Apache-2.0
// What reductions are made of. Each goes on in the phase that is being written. What follows one
// whose last phase has messages begins the next phase.
#pragma once

#include <cstddef>
#include <vector>

#include "coll/schedule_builder.hpp"

namespace penstock::coll {

// Ranks that combine their values, in the order in which they do.
struct Members {
  std::vector<int> ranks;
  std::size_t self = 0;  // my number among them

  std::size_t count() const noexcept { return ranks.size(); }
};

// One part for each member: the first ones have one element more where the members do not divide
// them.
std::vector<Region> chunks(const Region& whole, std::size_t element, std::size_t count);

// Member i gets chunk i of all, and combines them in order. Its last phase has no messages.
void reduce_chunks(ScheduleBuilder& builder, const Members& members,
                   const std::vector<Region>& from, const Region& to);

// Each member gives its chunk to all others. Its last phase has messages.
void share_chunks(ScheduleBuilder& builder, const Members& members, const std::vector<Region>& all);

// How all members get the combined value. Its last phase may have messages.
using Combine = void (*)(ScheduleBuilder& builder, const Members& members, std::size_t element,
                         const Region& from, const Region& to);

// reduce_chunks, then share_chunks.
void combine_two_shot(ScheduleBuilder& builder, const Members& members, std::size_t element,
                      const Region& from, const Region& to);

// Members at distance 1, 2, 4 ... exchange what they have, and both combine it, the lower one's
// value first. Members beyond a power of two give theirs to a neighbour before, and get the result
// from it.
void combine_doubling(ScheduleBuilder& builder, const Members& members, std::size_t element,
                      const Region& from, const Region& to);

}  // namespace penstock::coll
