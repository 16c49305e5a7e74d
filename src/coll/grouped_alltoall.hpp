// SPDX-License-Identifier: Apache-2.0
// Alltoall by fewer and longer messages. All five are one exchange: the ranks of a leader give it
// what they send, leaders of equal position in their groups exchange, then the leaders of a group,
// and each leader gives its ranks what is theirs.
//
//   hierarchical         a node is a group of one leader
//   multileader          each leader is a group
//   node-aware           each rank is a leader, a node is a group
//   locality-aware       each rank is a leader, groups are parts of a node
//   multileader-locality a node is a group of several leaders
#pragma once

#include "coll/shape.hpp"

namespace penstock::coll {

Schedule hierarchical_alltoall(const Shape& shape, int rank);
Schedule multileader_alltoall(const Shape& shape, int rank);
Schedule node_aware_alltoall(const Shape& shape, int rank);
Schedule locality_aware_alltoall(const Shape& shape, int rank);
Schedule multileader_locality_alltoall(const Shape& shape, int rank);

}  // namespace penstock::coll
