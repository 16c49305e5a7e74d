// SPDX-License-Identifier: Apache-2.0
#include "cg/solver.hpp"

#include <mpi.h>

#include <algorithm>
#include <optional>

namespace penstock::cg {

using apps::Comm;

namespace {

constexpr int most_in_graph = 25;

}  // namespace

Solver::Solver(Comm comm, const apps::Options& options, const Problem& problem,
               const halo::Grid<3>& grid)
    : GridSolver(comm, options.device),
      iterations_(problem.iterations),
      iterations_in_graph_(std::min(most_in_graph, problem.iterations)),
      system_(problem, grid, options.device, *lane_),
      ghosts_(comm, options, *lane_, grid, system_.direction()),
      curvature_(make_sum(comm, options.device, *lane_, system_.state().own_curvature,
                          system_.state().curvature)),
      residual_(make_sum(comm, options.device, *lane_, system_.state().own_residual,
                         system_.state().next_residual)) {}

double Solver::solve() {
  system_.load();
  if (apps::needs_graphs(comm_) && graph_ == nullptr)
    graph_ = lane_->capture([this] { iterate(iterations_in_graph_); });
  return timed(ghosts_, [this] { run(); });
}

void Solver::run() {
  int left = iterations_;
  for (; graph_ && left >= iterations_in_graph_; left -= iterations_in_graph_) graph_->launch();
  iterate(left);
}

// The host stops once it has seen that it is over, as a program does that leaves that to it.
void Solver::iterate(int iterations) {
  for (int i = 0; i < iterations; ++i) {
    ghosts_.fill(system_.direction());
    system_.multiply();
    curvature_->enqueue();
    system_.step();
    const std::optional<double> residual = residual_->enqueue();
    system_.turn();
    if (residual && *residual <= system_.target()) return;
  }
}

}  // namespace penstock::cg
