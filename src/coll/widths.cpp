// SPDX-License-Identifier: Apache-2.0
#include "coll/widths.hpp"

#include <algorithm>

namespace penstock::coll {

namespace {

int ranks_of_group(int node_ranks, int most_groups) {
  int groups = std::clamp(node_ranks / 2, 1, most_groups);
  while (node_ranks % groups != 0) --groups;
  return std::max(node_ranks / groups, 1);
}

}  // namespace

void give_widths(Shape& shape, int most_groups) {
  shape.group = shape.leader = ranks_of_group(node_ranks(shape), most_groups);
  shape.batch = shape.ranks > few_ranks ? few_ranks : 1;
}

}  // namespace penstock::coll
