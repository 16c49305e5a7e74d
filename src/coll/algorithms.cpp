// SPDX-License-Identifier: Apache-2.0
#include "coll/algorithms.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "coll/allgather.hpp"
#include "coll/allreduce.hpp"
#include "coll/barrier.hpp"
#include "coll/grouped_alltoall.hpp"
#include "coll/pairwise.hpp"
#include "coll/trees.hpp"

namespace penstock::coll {

namespace {

base::Verdict always(const Shape& /*shape*/) {
  return base::accepted();
}

constexpr Algorithm barriers[] = {{"dissemination", always, dissemination_barrier}};
constexpr Algorithm bcasts[] = {{"binomial", always, binomial_bcast}};
constexpr Algorithm reduces[] = {{"binomial", always, binomial_reduce}};
constexpr Algorithm allgathers[] = {
    {"ring", always, ring_allgather},
    {"dissemination", always, dissemination_allgather},
};
constexpr Algorithm alltoalls[] = {
    {"pairwise", always, pairwise_alltoall},
    {"nonblocking", always, nonblocking_alltoall},
    {"hierarchical", even_nodes, hierarchical_alltoall},
    {"multileader", even_leaders, multileader_alltoall},
    {"node-aware", even_nodes, node_aware_alltoall},
    {"locality-aware", even_groups, locality_aware_alltoall},
    {"multileader-locality", even_leaders, multileader_locality_alltoall},
};
constexpr Algorithm alltoallvs[] = {
    {"pairwise", always, pairwise_alltoallv},
    {"nonblocking", always, nonblocking_alltoallv},
};
constexpr Algorithm allreduces[] = {
    {"two-shot", always, two_shot_allreduce},
    {"doubling", always, doubling_allreduce},
    {"lanes", even_nodes, lanes_allreduce},
    {"lanes-doubling", even_nodes, lanes_doubling_allreduce},
};
constexpr Algorithm reduce_scatter_blocks[] = {{"pairs", always, pairs_reduce_scatter_block}};

}  // namespace

std::span<const Algorithm> algorithms(Collective collective) {
  switch (collective) {
    case Collective::barrier:
      return barriers;
    case Collective::bcast:
      return bcasts;
    case Collective::reduce:
      return reduces;
    case Collective::allgather:
      return allgathers;
    case Collective::alltoall:
      return alltoalls;
    case Collective::alltoallv:
      return alltoallvs;
    case Collective::allreduce:
      return allreduces;
    case Collective::reduce_scatter_block:
      break;
  }
  return reduce_scatter_blocks;
}

Choice choose(Collective collective, std::string_view name, const Shape& shape) {
  const std::span<const Algorithm> all = algorithms(collective);
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Algorithm& each) { return each.name == name; });
  if (found == all.end()) return {all.front(), base::refused(fmt::format("no algorithm {}", name))};
  base::Verdict verdict = found->serves(shape);
  return {verdict.yes ? *found : all.front(), std::move(verdict)};
}

}  // namespace penstock::coll
