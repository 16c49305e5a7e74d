// SPDX-License-Identifier: Apache-2.0
#include "comb/decomposition.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <string>

#include "support/session.hpp"

namespace penstock::comb {
namespace {

double product(const Triple& extents) {
  return static_cast<double>(extents[0]) * extents[1] * extents[2];
}

std::string text(const Triple& triple) {
  return fmt::format("{},{},{}", triple[0], triple[1], triple[2]);
}

Triple place_of(const Problem& problem, int rank) {
  return {rank % problem.ranks[0], rank / problem.ranks[0] % problem.ranks[1],
          rank / problem.ranks[0] / problem.ranks[1]};
}

void require_ranks(const Problem& problem, int ranks) {
  if (product(problem.ranks) == ranks) return;
  throw tool::UserError(fmt::format(
      "--grid {} is for {:.0f} rank{} and the job has {}: run it as mpiexec -n {:.0f}, or "
      "give a grid of {}",
      text(problem.ranks), product(problem.ranks), product(problem.ranks) == 1 ? "" : "s", ranks,
      product(problem.ranks), ranks));
}

void require_zones(const Problem& problem) {
  for (std::size_t d = 0; d < 3; ++d)
    if (problem.zones[d] < problem.ghosts[d])
      throw tool::UserError(
          fmt::format("--zones {} is smaller than --ghosts {}: a rank needs as many zones as its "
                      "neighbour has ghosts; take more zones or fewer ranks",
                      text(problem.zones), text(problem.ghosts)));
  Triple extents{};
  for (std::size_t d = 0; d < 3; ++d) extents[d] = problem.zones[d] + 2 * problem.ghosts[d];
  if (product(extents) * problem.variables >= 2147483648.0)
    throw tool::UserError(
        fmt::format("--zones {} with {} variables: a rank takes less than 2^31 values",
                    text(problem.zones), problem.variables));
}

}  // namespace

Problem settled(Problem problem, int ranks) {
  if (product(problem.ranks) == 0) MPI_Dims_create(ranks, 3, problem.ranks.data());
  require_ranks(problem, ranks);
  require_zones(problem);
  return problem;
}

Mesh mesh_of(const Problem& problem, int rank) {
  const Triple place = place_of(problem, rank);
  Mesh mesh{};
  for (std::size_t d = 0; d < 3; ++d) {
    mesh.zones[d] = problem.zones[d];
    mesh.ghosts[d] = problem.ghosts[d];
    mesh.first[d] = place[d] * problem.zones[d];
    mesh.whole[d] = problem.ranks[d] * problem.zones[d];
    mesh.meets[d][0] = problem.periodic[d] != 0 || place[d] > 0;
    mesh.meets[d][1] = problem.periodic[d] != 0 || place[d] + 1 < problem.ranks[d];
  }
  mesh.variables = problem.variables;
  return mesh;
}

std::vector<apps::Neighbour> neighbours_of(const Problem& problem, int rank) {
  const Mesh mesh = mesh_of(problem, rank);
  const Triple place = place_of(problem, rank);
  std::vector<apps::Neighbour> neighbours;
  for (int direction = 0; direction < directions; ++direction) {
    if (!has_neighbour(mesh, direction)) continue;
    Triple there{};
    for (std::size_t d = 0; d < 3; ++d)
      there[d] = (place[d] + part_of(direction, static_cast<int>(d)) + problem.ranks[d]) %
                 problem.ranks[d];
    neighbours.push_back(
        {direction, there[0] + problem.ranks[0] * (there[1] + problem.ranks[1] * there[2]),
         std::size_t{sent_box(mesh, direction).size()} * static_cast<std::size_t>(mesh.variables)});
  }
  return neighbours;
}

}  // namespace penstock::comb
