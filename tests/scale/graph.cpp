// SPDX-License-Identifier: Apache-2.0
#include "scale/graph.hpp"

#include <array>
#include <cmath>
#include <random>

namespace penstock::scale {
namespace {

constexpr int directions = 26;

// As near to a cube as the divisors allow.
std::array<int, 3> dimensions_of(int ranks) {
  std::array<int, 3> best{ranks, 1, 1};
  for (int x = 1; x * x * x <= ranks; ++x)
    for (int y = x; x * y * y <= ranks; ++y)
      if (ranks % (x * y) == 0) best = {ranks / (x * y), y, x};
  return best;
}

void add(std::vector<Edges>& all, int from, int to, int tag) {
  all[static_cast<std::size_t>(from)].sends.push_back({to, tag});
  all[static_cast<std::size_t>(to)].receives.push_back({from, tag});
}

// Periodic: with one or two ranks in a dimension a rank is its own neighbour, or another's several
// times; the tag is the direction.
void add_neighbours(std::vector<Edges>& all) {
  const auto [nx, ny, nz] = dimensions_of(static_cast<int>(all.size()));
  const auto at = [&, nx = nx, ny = ny, nz = nz](int x, int y, int z) {
    return (((z + nz) % nz) * ny + (y + ny) % ny) * nx + (x + nx) % nx;
  };
  for (int z = 0; z < nz; ++z)
    for (int y = 0; y < ny; ++y)
      for (int x = 0; x < nx; ++x)
        for (int direction = 0; direction <= directions; ++direction) {
          const int dx = direction % 3 - 1, dy = direction / 3 % 3 - 1, dz = direction / 9 - 1;
          if (dx == 0 && dy == 0 && dz == 0) continue;
          add(all, at(x, y, z), at(x + dx, y + dy, z + dz), direction);
        }
}

void add_random(std::vector<Edges>& all, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> any(0, static_cast<int>(all.size()) - 1), tag(0, 3);
  for (int rank = 0; rank < static_cast<int>(all.size()); ++rank)
    for (int edge = 0; edge < directions; ++edge) add(all, rank, any(random), tag(random));
}

}  // namespace

std::vector<Edges> edges_of(Graph graph, int ranks, std::uint32_t seed) {
  std::vector<Edges> all(static_cast<std::size_t>(ranks));
  switch (graph) {
    case Graph::neighbours:
      add_neighbours(all);
      break;
    case Graph::random:
      add_random(all, seed);
      break;
    case Graph::star:
      for (int rank = 1; rank < ranks; ++rank) {
        add(all, 0, rank, 0);
        add(all, rank, 0, 0);
      }
      break;
  }
  return all;
}

}  // namespace penstock::scale
