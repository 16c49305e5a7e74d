// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench_options.hpp"

namespace penstock::bench {

// The names of the library's algorithms, for --algorithm all: docs/collectives.md has them, and a
// test asks the library. The library itself refuses a name that it does not know.
std::vector<std::string> algorithms_of(Kind kind);

// The same with every width that makes a difference among so many ranks, of which each node has so
// many (0: the nodes differ): a leader of one rank, or of all of a node, is that of another
// algorithm.
std::vector<std::string> variants_of(Kind kind, int ranks, int node_ranks);

// What the library calls the collective: in its files and messages.
std::string collective_name(Kind kind);

}  // namespace penstock::bench
