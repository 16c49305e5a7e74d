// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace penstock::tool {

// How the ranks of MPI_COMM_WORLD lie on nodes, as the library's collectives see them.
struct Nodes {
  int count = 1;
  int ranks_a_node = 1;  // 0: they differ
};

// Collective.
Nodes look_at_nodes();

}  // namespace penstock::tool
