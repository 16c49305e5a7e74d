// SPDX-License-Identifier: Apache-2.0
// Ranks by node and index: those of a node, and those of one index, one on each node.
#pragma once

#include "coll/reduction.hpp"
#include "coll/shape.hpp"

namespace penstock::coll {

Members node_members(const Shape& shape, int rank);  // by index
Members lane_members(const Shape& shape, int rank);  // by node

}  // namespace penstock::coll
