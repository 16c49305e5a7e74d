// SPDX-License-Identifier: Apache-2.0
#include "coll/algorithms.hpp"

#include <algorithm>

#include "coll/allgather.hpp"
#include "coll/allreduce.hpp"
#include "coll/barrier.hpp"
#include "coll/grouped_alltoall.hpp"
#include "coll/neighbors.hpp"
#include "coll/pairwise.hpp"
#include "coll/team_allreduce.hpp"
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
    {"pairwise", always, pairwise_alltoall, &Shape::batch},
    {"nonblocking", always, nonblocking_alltoall},
    {"hierarchical", even_nodes, hierarchical_alltoall},
    {"multileader", even_leaders, multileader_alltoall, &Shape::leader},
    {"node-aware", even_nodes, node_aware_alltoall},
    {"locality-aware", even_groups, locality_aware_alltoall, &Shape::group},
    {"multileader-locality", even_leaders, multileader_locality_alltoall, &Shape::leader},
};
constexpr Algorithm alltoallvs[] = {
    {"pairwise", always, pairwise_alltoallv, &Shape::batch},
    {"nonblocking", always, nonblocking_alltoallv},
};
constexpr Algorithm allreduces[] = {
    {"two-shot", always, two_shot_allreduce},
    {"doubling", always, doubling_allreduce},
    {"lanes", even_nodes, lanes_allreduce},
    {"lanes-doubling", even_nodes, lanes_doubling_allreduce},
};
constexpr Algorithm reduce_scatter_blocks[] = {{"pairs", always, pairs_reduce_scatter_block}};
constexpr Algorithm team_allreduces[] = {
    {"two-shot", always, two_shot_team_allreduce},
    {"doubling", always, doubling_team_allreduce},
};
constexpr Algorithm neighbor_alltoalls[] = {{"nonblocking", always, nonblocking_neighbors}};

}  // namespace

std::span<const Algorithm> algorithms(CollectiveKind collective) {
  switch (collective) {
    case CollectiveKind::barrier:
      return barriers;
    case CollectiveKind::bcast:
      return bcasts;
    case CollectiveKind::reduce:
      return reduces;
    case CollectiveKind::allgather:
      return allgathers;
    case CollectiveKind::alltoall:
      return alltoalls;
    case CollectiveKind::alltoallv:
      return alltoallvs;
    case CollectiveKind::allreduce:
      return allreduces;
    case CollectiveKind::reduce_scatter_block:
      return reduce_scatter_blocks;
    case CollectiveKind::team_allreduce:
      return team_allreduces;
    case CollectiveKind::neighbor_alltoall:
    case CollectiveKind::neighbor_alltoallv:
      break;
  }
  return neighbor_alltoalls;
}

std::span<const std::string_view> direct_names(CollectiveKind collective) noexcept {
  static constexpr std::string_view one_shot[] = {"one-shot"};
  static constexpr std::string_view direct[] = {"direct", "put-lock", "put-fence"};
  switch (collective) {
    case CollectiveKind::allreduce:
      return one_shot;
    case CollectiveKind::bcast:
    case CollectiveKind::reduce:
    case CollectiveKind::neighbor_alltoall:
    case CollectiveKind::neighbor_alltoallv:
      return {};  // who has nothing to send back is not waited for
    case CollectiveKind::team_allreduce:
      return {};  // its members meet by messages
    case CollectiveKind::alltoall:
    case CollectiveKind::alltoallv:
      return direct;
    case CollectiveKind::barrier:
    case CollectiveKind::allgather:
    case CollectiveKind::reduce_scatter_block:
      break;
  }
  return std::span(direct).first(1);
}

bool is_direct(CollectiveKind collective, std::string_view name) noexcept {
  const auto names = direct_names(collective);
  return std::find(names.begin(), names.end(), name) != names.end();
}

const Algorithm* find_algorithm(CollectiveKind collective, std::string_view name) noexcept {
  const std::span<const Algorithm> all = algorithms(collective);
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Algorithm& each) { return each.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace penstock::coll
