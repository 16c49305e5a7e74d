// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "cg/sum.hpp"
#include "cg/system.hpp"
#include "common/ghosts.hpp"
#include "common/solvers.hpp"

namespace penstock::cg {

// One way to exchange the ghosts and to add up the products, with a lane, vectors and requests of
// its own.
class Solver : public apps::GridSolver {
 public:
  // Collective.
  Solver(apps::Comm comm, const apps::Options& options, const Problem& problem,
         const halo::Grid<3>& grid);

  std::string transport() const { return ghosts_.transport(); }

  // From the beginning. A stream is given all iterations at once; those after convergence do
  // nothing. Returns the time in us. Collective: all ranks begin together.
  double solve();
  const System& system() const noexcept { return system_; }

 private:
  void run();
  void iterate(int iterations);

  int iterations_;
  int iterations_in_graph_;
  System system_;
  apps::Ghosts<3> ghosts_;
  std::unique_ptr<Sum> curvature_;
  std::unique_ptr<Sum> residual_;
  std::unique_ptr<apps::Replay> graph_;
};

}  // namespace penstock::cg
