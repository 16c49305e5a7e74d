// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <penstock/halo.hpp>
#include <vector>

#include "cg/vectors.hpp"
#include "common/lane.hpp"
#include "common/memory.hpp"

namespace penstock::cg {

struct Problem {
  halo::Index<3> cells{};  // of all ranks together
  int iterations = 50;     // at most
  double tolerance = 0;    // of the norm of the residual, relative to the first one
};

// How a solution has come on: the squared norm of the residual after each iteration.
using History = std::vector<double>;

// b, such that the solution is 1 everywhere: what each cell's neighbours in the grid leave of 27.
double right_side(const halo::Index<3>& cell, const halo::Index<3>& cells);

// The equations A x = b of one rank's cells, and the vectors of the conjugate gradients. A has 26
// on the diagonal and -1 for each neighbour in the grid. All work is done by a lane.
class System {
 public:
  System(const Problem& problem, const halo::Grid<3>& grid, apps::DeviceKind device,
         apps::Lane& lane);

  // The beginning: x is zero. Collective; blocks until it is there.
  void load();
  // Whose ghosts multiply() reads. Those beyond the grid stay zero.
  halo::View<double, 3> direction() const noexcept;

  // The parts of an iteration (kernels.hpp), in the order of the lane.
  void multiply() { lane_.launch(multiply_); }
  void step() { lane_.launch(step_); }
  void turn() { lane_.launch(turn_); }

  // Lies where the kernels run, not to be read by the host on a GPU.
  State& state() const noexcept { return *vectors_.state; }
  double first_residual() const noexcept { return first_residual_; }
  double target() const noexcept {
    return first_residual_ * problem_.tolerance * problem_.tolerance;
  }

  // Block; the lane's work must have ended.
  History history() const;
  std::vector<double> solution() const;  // own cells, in the grid's order

 private:
  Vectors make_vectors() const noexcept;
  void make_kernels();
  std::vector<double> own_right_side() const;
  std::vector<double> with_ghosts(const std::vector<double>& cells) const;

  Problem problem_;
  halo::Grid<3> grid_;
  apps::DeviceKind device_;
  apps::Lane& lane_;
  halo::Index<3> extents_;  // of the direction, with ghosts
  std::size_t cells_;       // own
  apps::Memory direction_;
  apps::Memory dense_;
  apps::Memory state_;
  apps::Memory sums_;
  Vectors vectors_;
  double first_residual_ = 0;  // squared, as in the history
  apps::Lane::Kernel multiply_;
  apps::Lane::Kernel step_;
  apps::Lane::Kernel turn_;
};

}  // namespace penstock::cg
