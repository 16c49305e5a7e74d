// SPDX-License-Identifier: Apache-2.0
// Broadcast and reduction by binomial trees over the ranks, counted from the root on. The parent of
// a place is the place without its lowest bit, so places of one depth have equally many bits.
#pragma once

#include "coll/shape.hpp"

namespace penstock::coll {

Schedule binomial_bcast(const Shape& shape, int rank);

// A rank combines its own value and those of its children, from the nearest on: so values are
// combined in the order of ranks from the root on, by brackets that only the tree decides.
Schedule binomial_reduce(const Shape& shape, int rank);

}  // namespace penstock::coll
