// SPDX-License-Identifier: Apache-2.0
// What programs have in common that iterate over a 3D grid until they have a solution, each in
// several ways.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <penstock/halo.hpp>
#include <string>
#include <vector>

#include "common/ghosts.hpp"
#include "common/samples.hpp"
#include "common/table.hpp"
#include "support/clock.hpp"
#include "support/progress.hpp"

namespace penstock::apps {

// One way: how messages go, and the lane of its work.
class GridSolver {
 public:
  GridSolver(Comm comm, DeviceKind device) : comm_(comm), lane_(make_lane(device, comm)) {}

  std::string name() const { return name_of(comm_); }
  bool is_baseline() const { return is_host_driven(comm_); }

 protected:
  ~GridSolver() = default;

  // The time in us that run() and what it has enqueued take. Collective: all ranks begin together.
  template <class Run>
  double timed(Ghosts<3>& ghosts, Run run) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = tool::now_us();
    run();
    ghosts.synchronize();
    lane_->synchronize();
    return tool::now_us() - begin;
  }

  const Comm comm_;
  const std::unique_ptr<Lane> lane_;
};

// The solvers of all variants, and their times. A Solver is a GridSolver with transport() and
// solve(), which gives the time of a solution in us.
template <class Solver>
class Solvers {
 public:
  // Collective.
  template <class Problem>
  Solvers(const std::vector<Comm>& comms, const Options& options, const Problem& problem,
          const halo::Grid<3>& grid)
      : samples_(comms.size()) {
    for (const Comm comm : comms)
      solvers_.push_back(std::make_unique<Solver>(comm, options, problem, grid));
  }

  std::size_t size() const noexcept { return solvers_.size(); }
  const Solver& operator[](std::size_t number) const noexcept { return *solvers_[number]; }

  // The variants take turns within a round, so that a slow moment of the machine hits them alike.
  // iterations(round, number) is called behind each solution, and says how many it has needed. The
  // rank that is `shown` draws how far they are.
  template <class Iterations>
  void run(int rounds, bool shown, Iterations iterations) {
    tool::Progress progress(shown, rounds * static_cast<int>(solvers_.size()));
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t i = 0; i < solvers_.size(); ++i) {
        const double us = solvers_[i]->solve();
        samples_[i].add(over_ranks(us / static_cast<double>(iterations(round, i))));
        progress.advance(solvers_[i]->name());
      }
    }
  }

  std::vector<Row> rows() const {
    std::vector<Row> rows;
    for (std::size_t i = 0; i < solvers_.size(); ++i)
      rows.push_back(
          {solvers_[i]->name(), solvers_[i]->transport(), solvers_[i]->is_baseline(), samples_[i]});
    return rows;
  }

 private:
  std::vector<std::unique_ptr<Solver>> solvers_;
  std::vector<Samples> samples_;
};

// "8 x 8 x 16 cells on 1 x 1 x 2 ranks", and the same as fields of the JSON line.
std::string text_of(const halo::Grid<3>& grid);
std::vector<std::pair<std::string, std::string>> fields_of(const halo::Grid<3>& grid);

}  // namespace penstock::apps
