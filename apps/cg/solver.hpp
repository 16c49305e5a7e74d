// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "cg/sum.hpp"
#include "cg/system.hpp"
#include "common/ghosts.hpp"

namespace penstock::cg {

// One way to exchange the ghosts and to add up the products, with a lane, vectors and requests of
// its own.
class Solver {
 public:
  // Collective.
  Solver(apps::Comm comm, const apps::Options& options, const Problem& problem,
         const halo::Grid<3>& grid);

  std::string name() const { return apps::name_of(comm_); }
  bool is_baseline() const { return apps::is_host_driven(comm_); }
  std::string transport() const { return ghosts_.transport(); }

  // From the beginning. A stream is given all iterations at once; those after convergence do
  // nothing. Returns the time in us. Collective: all ranks begin together.
  double solve();
  const System& system() const noexcept { return system_; }

 private:
  void run();
  void iterate(int iterations);

  apps::Comm comm_;
  int iterations_;
  int iterations_in_graph_;
  std::unique_ptr<apps::Lane> lane_;
  System system_;
  apps::Ghosts<3> ghosts_;
  std::unique_ptr<Sum> curvature_;
  std::unique_ptr<Sum> residual_;
  std::unique_ptr<apps::Replay> graph_;
};

}  // namespace penstock::cg
