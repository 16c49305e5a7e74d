// SPDX-License-Identifier: Apache-2.0
#include "collective_algorithms.hpp"

namespace penstock::bench {

std::vector<std::string> algorithms_of(Kind kind) {
  switch (kind) {
    case Kind::allreduce:
      return {"two-shot", "doubling", "lanes", "lanes-doubling"};
    case Kind::reduce_scatter:
      return {"pairs"};
    case Kind::allgather:
      return {"ring", "dissemination"};
    case Kind::alltoall:
      return {"pairwise",   "nonblocking",    "hierarchical",        "multileader",
              "node-aware", "locality-aware", "multileader-locality"};
    case Kind::alltoallv:
      return {"pairwise", "nonblocking"};
    case Kind::bcast:
    case Kind::reduce:
      return {"binomial"};
    case Kind::barrier:
      return {"dissemination"};
    default:
      return {};
  }
}

}  // namespace penstock::bench
