// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace penstock::bench {

// Returns a grid as even as MPI_Dims_create makes it.
std::array<int, 3> rank_grid(int ranks);

// A message that travels in one of the 26 directions of a periodic grid of ranks, each with a cube
// of edge^3 doubles: a face, an edge or a corner of it. A rank may be its own neighbour, and
// another's several times; the number of the direction keeps the messages apart.
struct HaloMessage {
  int to;
  int from;
  int direction;
  std::size_t bytes;
};

// What this rank sends and receives, the same directions in the same order on all.
std::vector<HaloMessage> halo_messages(int rank, int ranks, std::size_t edge);

}  // namespace penstock::bench
