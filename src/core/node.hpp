// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace penstock::core {

class Library;

// The first one of the members, in MPI_COMM_WORLD, that are one node with this process: they share
// memory with it, and PENSTOCK_NODE_RANKS may cut them into nodes of so many.
int first_of_node(const std::vector<int>& members, Library& library);

}  // namespace penstock::core
