// SPDX-License-Identifier: Apache-2.0
#include "faces/rank_grid.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include "support/session.hpp"

namespace penstock::faces {
namespace {

// Products of any ints that the command line takes.
double product(const std::array<int, 3>& extents) {
  return static_cast<double>(extents[0]) * extents[1] * extents[2];
}

void require_ranks(const Problem& problem, int ranks) {
  const auto& [x, y, z] = problem.ranks;
  if (product(problem.ranks) != ranks)
    throw tool::UserError(
        fmt::format("--grid {},{},{} is for {:.0f} rank{} and the job has {}: run it as mpiexec -n "
                    "{:.0f}, or give a grid of {}",
                    x, y, z, product(problem.ranks), product(problem.ranks) == 1 ? "" : "s", ranks,
                    product(problem.ranks), ranks));
}

// A message's count is an int, and kernels number the points of the block's surface by 32 bits.
void require_size(const Problem& problem) {
  const auto& [x, y, z] = problem.elements;
  const double side = static_cast<double>(problem.points) * problem.points;
  for (const double face : {1.0 * x * y, 1.0 * y * z, 1.0 * z * x})
    if (face * side >= 2147483648.0)
      throw tool::UserError(
          fmt::format("--elements {},{},{} with --points {}: a face of more than 2^31 points does "
                      "not fit into one message",
                      x, y, z, problem.points));
}

}  // namespace

Problem settled(Problem problem, int ranks) {
  if (product(problem.ranks) == 0) MPI_Dims_create(ranks, 3, problem.ranks.data());
  require_ranks(problem, ranks);
  require_size(problem);
  return problem;
}

RankGrid::RankGrid(const Problem& problem, int rank)
    : ranks_(problem.ranks),
      place_{rank % ranks_[0], rank / ranks_[0] % ranks_[1], rank / ranks_[0] / ranks_[1]},
      block_{} {
  block_.points = problem.points;
  for (std::size_t d = 0; d < 3; ++d) {
    block_.elements[d] = problem.elements[d];
    block_.first[d] = place_[d] * problem.elements[d];
    block_.meets[d][0] = place_[d] > 0;
    block_.meets[d][1] = place_[d] + 1 < ranks_[d];
  }
  for (int direction = 0; direction < directions; ++direction)
    if (has_neighbour(block_, direction)) neighbours_.push_back(direction);
}

int RankGrid::rank_at(int direction) const noexcept {
  const int x = place_[0] + part_of(direction, 0);
  const int y = place_[1] + part_of(direction, 1);
  const int z = place_[2] + part_of(direction, 2);
  return x + ranks_[0] * (y + ranks_[1] * z);
}

}  // namespace penstock::faces
