// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "comb/mesh.hpp"
#include "common/side_buffers.hpp"

namespace penstock::comb {

using Triple = std::array<int, 3>;

struct Problem {
  Triple ranks{0, 0, 0};  // 0: chosen by MPI_Dims_create
  Triple zones{100, 100, 100};
  Triple ghosts{1, 1, 1};
  Triple periodic{1, 1, 1};
  int variables = 3;
};

// Fills in what is open. Throws tool::UserError for what cannot be run on so many ranks.
Problem settled(Problem problem, int ranks);

Mesh mesh_of(const Problem& problem, int rank);
std::vector<apps::Neighbour> neighbours_of(const Problem& problem, int rank);

}  // namespace penstock::comb
