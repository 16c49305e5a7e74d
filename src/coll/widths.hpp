// SPDX-License-Identifier: Apache-2.0
// How many ranks a group or a leader has, and how many pairs of a rank are under way at once, where
// nobody says so.
#pragma once

#include "coll/shape.hpp"

namespace penstock::coll {

// Up to so many ranks all pairs of an alltoall are under way at once; beyond, so many in a batch.
inline constexpr int few_ranks = 8;

// `most_groups`: groups or leaders that a node has at most. They are as many as divide its ranks
// with two at least for each: of one rank each they would be the ranks themselves.
void give_widths(Shape& shape, int most_groups);

}  // namespace penstock::coll
