// SPDX-License-Identifier: Apache-2.0
#include "coll/shape.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace penstock::coll {

namespace {

std::vector<int> ranks_of_nodes(const Shape& shape) {
  std::vector<int> ranks;
  for (const int node : shape.node) {
    if (static_cast<std::size_t>(node) >= ranks.size()) ranks.resize(node + 1);
    ++ranks[node];
  }
  return ranks;
}

base::Verdict even_parts(const Shape& shape, int ranks, const char* what) {
  if (base::Verdict nodes = even_nodes(shape); !nodes.yes) return nodes;
  const int all = node_ranks(shape);
  if (ranks > 0 && all % ranks == 0) return base::accepted();
  return base::refused(fmt::format("{} of {} do not divide the {} of a node", what, ranks, all));
}

}  // namespace

int node_ranks(const Shape& shape) {
  const std::vector<int> ranks = ranks_of_nodes(shape);
  const bool even =
      std::all_of(ranks.begin(), ranks.end(), [&](int each) { return each == ranks.front(); });
  return ranks.empty() || !even ? 0 : ranks.front();
}

int node_count(const Shape& shape) {
  return static_cast<int>(ranks_of_nodes(shape).size());
}

std::vector<int> node_order(const Shape& shape) {
  std::vector<int> order(shape.ranks);
  const int each = node_ranks(shape);
  for (int rank = 0; rank < shape.ranks; ++rank)
    order[shape.node[rank] * each + shape.index[rank]] = rank;
  return order;
}

base::Verdict even_nodes(const Shape& shape) {
  const std::vector<int> ranks = ranks_of_nodes(shape);
  if (ranks.empty()) return base::refused("nobody knows the nodes");
  if (node_ranks(shape) > 0) return base::accepted();
  const auto [least, most] = std::minmax_element(ranks.begin(), ranks.end());
  return base::refused(fmt::format("the nodes have from {} to {} ranks", *least, *most));
}

base::Verdict even_groups(const Shape& shape) {
  return even_parts(shape, shape.group, "groups");
}

base::Verdict even_leaders(const Shape& shape) {
  return even_parts(shape, shape.leader, "leaders' ranks");
}

}  // namespace penstock::coll
