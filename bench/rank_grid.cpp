// SPDX-License-Identifier: Apache-2.0
#include "rank_grid.hpp"

#include <mpi.h>

namespace penstock::bench {
namespace {

using Place = std::array<int, 3>;

Place place_of(int rank, const Place& grid) {
  return {rank / (grid[1] * grid[2]), rank / grid[2] % grid[1], rank % grid[2]};
}

int neighbour_of(const Place& place, const Place& grid, const Place& step, int sign) {
  Place there{};
  for (std::size_t i = 0; i < there.size(); ++i)
    there[i] = (place[i] + sign * step[i] + grid[i]) % grid[i];
  return (there[0] * grid[1] + there[1]) * grid[2] + there[2];
}

std::size_t bytes_of(const Place& step, std::size_t edge) {
  std::size_t cells = 1;
  for (const int along : step) cells *= along == 0 ? edge : 1;
  return cells * sizeof(double);
}

}  // namespace

std::array<int, 3> rank_grid(int ranks) {
  Place grid{};
  MPI_Dims_create(ranks, static_cast<int>(grid.size()), grid.data());
  return grid;
}

std::vector<HaloMessage> halo_messages(int rank, int ranks, std::size_t edge) {
  const Place grid = rank_grid(ranks);
  const Place place = place_of(rank, grid);
  std::vector<HaloMessage> messages;
  for (int direction = 0; direction < 27; ++direction) {
    const Place step{direction / 9 - 1, direction / 3 % 3 - 1, direction % 3 - 1};
    if (step == Place{}) continue;
    messages.push_back({neighbour_of(place, grid, step, 1), neighbour_of(place, grid, step, -1),
                        direction, bytes_of(step, edge)});
  }
  return messages;
}

}  // namespace penstock::bench
