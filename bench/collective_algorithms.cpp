// SPDX-License-Identifier: Apache-2.0
#include "collective_algorithms.hpp"

namespace penstock::bench {

std::vector<std::string> algorithms_of(Kind kind) {
  switch (kind) {
    case Kind::allreduce:
      return {"two-shot", "doubling", "lanes", "lanes-doubling", "one-shot"};
    case Kind::reduce_scatter:
      return {"pairs", "direct"};
    case Kind::allgather:
      return {"ring", "dissemination", "direct"};
    case Kind::alltoall:
      return {"pairwise",       "nonblocking",          "hierarchical", "multileader", "node-aware",
              "locality-aware", "multileader-locality", "direct",       "put-lock",    "put-fence"};
    case Kind::alltoallv:
      return {"pairwise", "nonblocking", "direct", "put-lock", "put-fence"};
    case Kind::bcast:
    case Kind::reduce:
      return {"binomial"};
    case Kind::barrier:
      return {"dissemination", "direct"};
    default:
      return {};
  }
}

namespace {

// Some ranks of a node, but neither one nor all.
std::vector<int> parts_of(int node_ranks) {
  std::vector<int> parts;
  for (int part = 2; part < node_ranks; ++part)
    if (node_ranks % part == 0) parts.push_back(part);
  return parts;
}

// One pair under way, and more and more, but not all.
std::vector<int> batches_of(int ranks) {
  std::vector<int> batches{1};
  for (int batch = 2; batch < ranks - 1; batch *= 2) batches.push_back(batch);
  return batches;
}

}  // namespace

std::vector<std::string> variants_of(Kind kind, int ranks, int node_ranks) {
  std::vector<std::string> variants;
  const auto add = [&](const std::string& name, const std::vector<int>& widths) {
    for (const int width : widths) variants.push_back(name + ":" + std::to_string(width));
  };
  for (const std::string& name : algorithms_of(kind)) {
    if (name == "pairwise")
      add(name, batches_of(ranks));
    else if (name == "locality-aware" || name.starts_with("multileader"))
      add(name, parts_of(node_ranks));
    else
      variants.push_back(name);
  }
  return variants;
}

std::string collective_name(Kind kind) {
  return kind == Kind::reduce_scatter ? "reduce_scatter_block" : about(kind).command;
}

}  // namespace penstock::bench
