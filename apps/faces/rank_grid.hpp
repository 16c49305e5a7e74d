// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <vector>

#include "faces/geometry.hpp"

namespace penstock::faces {

// What is asked for: ranks and elements of a rank in x, y and z, points along an edge of an
// element.
struct Problem {
  std::array<int, 3> ranks{0, 0, 0};  // 0: chosen by MPI_Dims_create
  std::array<int, 3> elements{15, 14, 13};
  int points = 12;
};

// Fills in what is open. Throws tool::UserError for what cannot be run on so many ranks.
Problem settled(Problem problem, int ranks);

// Ranks in a box, x fastest, without a way around.
class RankGrid {
 public:
  RankGrid(const Problem& problem, int rank);

  const Block& block() const noexcept { return block_; }
  // The directions in which there is somebody, and who.
  const std::vector<int>& neighbours() const noexcept { return neighbours_; }
  int rank_at(int direction) const noexcept;

 private:
  std::array<int, 3> ranks_;
  std::array<int, 3> place_;
  Block block_;
  std::vector<int> neighbours_;
};

}  // namespace penstock::faces
