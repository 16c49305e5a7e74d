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
      return {"pairwise",   "nonblocking",    "hierarchical",         "multileader",
              "node-aware", "locality-aware", "multileader-locality", "direct"};
    case Kind::alltoallv:
      return {"pairwise", "nonblocking", "direct"};
    case Kind::bcast:
    case Kind::reduce:
      return {"binomial"};
    case Kind::barrier:
      return {"dissemination", "direct"};
    default:
      return {};
  }
}

}  // namespace penstock::bench
