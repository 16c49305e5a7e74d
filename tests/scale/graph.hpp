// SPDX-License-Identifier: Apache-2.0
// Who sends to whom among simulated ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::scale {

enum class Graph : std::uint8_t {
  neighbours,  // the 26 of a cell in three dimensions, as a halo exchange has them
  random,      // as many edges, at random
  star         // all ranks and rank 0
};

struct Edge {
  int peer = -1;
  int tag = 0;
};

// Of one rank. The k-th send to a rank with a tag is for the k-th receive from there with that tag.
struct Edges {
  std::vector<Edge> sends, receives;
};

std::vector<Edges> edges_of(Graph graph, int ranks, std::uint32_t seed);

}  // namespace penstock::scale
