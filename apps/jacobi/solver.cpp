// SPDX-License-Identifier: Apache-2.0
#include "jacobi/solver.hpp"

#include <algorithm>
#include <penstock/collectives.hpp>
#include <span>

namespace penstock::jacobi {

using apps::Comm;

namespace {

// Up to a check. The arrays take turns, so a graph that is launched again holds an even number of
// iterations; one that holds all of a solution's is launched once, from the first array on.
int iterations_in_graph(const Problem& problem) {
  const int up_to_check = problem.interval % 2 == 0 ? problem.interval : 2 * problem.interval;
  return std::min(up_to_check, problem.iterations);
}

}  // namespace

Solver::Solver(Comm comm, const apps::Options& options, const Problem& problem,
               const halo::Grid<3>& grid)
    : GridSolver(comm, options.device),
      problem_(problem),
      field_(problem, grid, options.device, *lane_),
      ghosts_(comm, options, *lane_, grid, field_.cells(0)),
      iterations_in_graph_(iterations_in_graph(problem)) {
  if (apps::is_host_driven(comm)) return;
  State& state = *field_.state();
  largest_.emplace(allreduce_init(std::span(&state.change, 1), std::span(&state.largest, 1),
                                  MPI_MAX, MPI_COMM_WORLD));
  match(*largest_);
}

double Solver::solve() {
  field_.load();
  if (apps::needs_graphs(comm_) && graph_ == nullptr) {
    graph_ = lane_->capture([this] { iterate(0, iterations_in_graph_); });
  }
  return timed(ghosts_, [this] { run(); });
}

void Solver::run() {
  int done = 0;
  if (graph_ != nullptr) {
    for (; done + iterations_in_graph_ <= problem_.iterations; done += iterations_in_graph_)
      graph_->launch();
  }
  iterate(done, problem_.iterations);
}

bool Solver::iterate(int first, int end) {
  int last_check = first;
  for (int i = first; i < end; ++i) {
    ghosts_.fill(field_.cells(i));
    if (!is_checked(problem_, i + 1)) {
      field_.sweep(i);
      continue;
    }
    field_.sweep_and_measure(i);
    if (!check(i + 1 - last_check)) return false;
    last_check = i + 1;
  }
  return true;
}

bool Solver::check(int iterations) {
  if (apps::is_host_driven(comm_)) return check_on_host(iterations);
  lane_->queue().run(*largest_);
  field_.decide(iterations);
  return true;
}

// What a program does that leaves the decision to the host.
bool Solver::check_on_host(int iterations) {
  lane_->synchronize();
  double largest = field_.read_state().change;
  MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  field_.set_largest(largest);
  field_.decide(iterations);
  return !(largest < problem_.tolerance);
}

}  // namespace penstock::jacobi
