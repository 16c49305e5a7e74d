// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "common/ghosts.hpp"
#include "common/solvers.hpp"
#include "jacobi/field.hpp"

namespace penstock::jacobi {

// One way to exchange the ghosts and to find the largest change, with a lane, arrays and requests
// of its own.
class Solver : public apps::GridSolver {
 public:
  // Collective.
  Solver(apps::Comm comm, const apps::Options& options, const Problem& problem,
         const halo::Grid<3>& grid);

  std::string transport() const { return ghosts_.transport(); }

  // From the beginning. A stream is given all iterations at once; those after the last check that
  // was needed do nothing. Returns the time in us. Collective: all ranks begin together.
  double solve();
  const Field& field() const noexcept { return field_; }

 private:
  void run();
  bool iterate(int first, int end);  // false when the host has seen that it is over
  bool check(int iterations);
  bool check_on_host(int iterations);

  Problem problem_;
  Field field_;
  apps::Ghosts<3> ghosts_;
  std::optional<Request> largest_;  // the largest change of all ranks, known to all
  std::unique_ptr<apps::Replay> graph_;
  int iterations_in_graph_;
};

}  // namespace penstock::jacobi
