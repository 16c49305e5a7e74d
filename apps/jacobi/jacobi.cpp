// SPDX-License-Identifier: Apache-2.0
// penstock jacobi: Jacobi's iteration with 27 points on a 3D grid of ranks, to a tolerance; the
// test of convergence stays on the stream.
#include "jacobi/jacobi.hpp"

#include <fmt/core.h>

#include <cmath>
#include <cstdlib>
#include <memory>

#include "common/options.hpp"
#include "common/samples.hpp"
#include "common/table.hpp"
#include "common/whole_grid.hpp"
#include "jacobi/reference.hpp"
#include "jacobi/solver.hpp"

namespace penstock::jacobi {
namespace {

struct Options : apps::Options {
  Problem problem;
  int rounds = 3;
  std::vector<apps::Comm> chosen;
};

class Program {
 public:
  Program(const Options& options, const tool::Session& session)
      : options_(options),
        session_(session),
        grid_(MPI_COMM_WORLD, options.problem.cells, {false, false, false}),
        samples_(options.chosen.size()) {
    for (const apps::Comm comm : options.chosen) {
      solvers_.push_back(std::make_unique<Solver>(comm, options, options.problem, grid_));
    }
  }

  // The variants take turns within a round, so that a slow moment of the machine hits them alike.
  void run() {
    for (int round = 0; round < options_.rounds; ++round) {
      for (std::size_t i = 0; i < solvers_.size(); ++i) {
        const double us = solvers_[i]->solve();
        progress_ = solvers_[i]->field().progress();
        samples_[i].add(apps::over_ranks(us / static_cast<double>(progress_.iterations)));
      }
    }
  }

  // The last round of each variant against the reference: every cell, every check and the
  // iterations, bit by bit.
  bool verify() const {
    const Reference expected = session_.is_root() ? solve_serially(options_.problem) : Reference{};
    bool right = true;
    for (const auto& solver : solvers_) {
      const std::vector<double> cells = apps::collect(solver->field().read(), grid_);
      if (session_.is_root()) right = is_equal(*solver, cells, expected) && right;
    }
    if (right && session_.is_root() && !options_.as_json) {
      fmt::print(
          "verified: {} variants equal a serial run after "
          "{} iterations and in all {} checks, {} rank{}\n",
          solvers_.size(), expected.progress.iterations, expected.progress.history.size(),
          session_.size(), session_.size() == 1 ? "" : "s");
    }
    return right;
  }

  void print() const {
    std::vector<apps::Row> rows;
    for (std::size_t i = 0; i < solvers_.size(); ++i) {
      rows.push_back(
          {solvers_[i]->name(), solvers_[i]->transport(), solvers_[i]->is_baseline(), samples_[i]});
    }
    const auto cells = options_.problem.cells;
    const auto ranks = grid_.ranks();
    const std::string note = fmt::format(
        "{} x {} x {} cells on {} x {} x {} ranks, {} iterations, largest change {:.3g}, checked "
        "every {}",
        cells[0], cells[1], cells[2], ranks[0], ranks[1], ranks[2], progress_.iterations,
        progress_.history.back(), options_.problem.interval);
    print_rows({"jacobi",
                "iteration",
                note,
                {{"cells", fmt::format("[{},{},{}]", cells[0], cells[1], cells[2])},
                 {"rank_grid", fmt::format("[{},{},{}]", ranks[0], ranks[1], ranks[2])},
                 {"iterations", std::to_string(progress_.iterations)},
                 {"interval", std::to_string(options_.problem.interval)}}},
               rows, options_, session_);
  }

 private:
  static bool is_equal(const Solver& solver, const std::vector<double>& cells,
                       const Reference& expected) {
    const bool right = cells == expected.cells;
    const bool same_way = solver.field().progress() == expected.progress;
    if (!right)
      fmt::print(stderr, "penstock: {}: cells differ from the serial run\n", solver.name());
    if (!same_way)
      fmt::print(stderr, "penstock: {}: a check differs from the serial run's\n", solver.name());
    return right && same_way;
  }

  const Options& options_;
  const tool::Session& session_;
  halo::Grid<3> grid_;
  std::vector<std::unique_ptr<Solver>> solvers_;
  std::vector<apps::Samples> samples_;
  Progress progress_;
};

std::unique_ptr<Program> make_program(const Options& options, const tool::Session& session) {
  try {
    apps::choose_device(options.device);
    return std::make_unique<Program>(options, session);
  } catch (const Error& error) {
    // On all ranks alike.
    if (error.kind() == PST_ERROR_ARGUMENT) throw tool::UserError(error.what());
    throw;
  }
}

int run_jacobi(const Options& options, const tool::Session& session) {
  const std::unique_ptr<Program> program = make_program(options, session);
  program->run();
  program->print();
  int status = options.verify && !program->verify() ? 1 : 0;
  MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return status;
}

void describe(CLI::App& app, Options& options) {
  app.add_option_function<int>(
         "-n",
         [&options](int cells) {
           options.problem.cells = {cells, cells, cells};
         },
         "Cells in each dimension (default: 64)")
      ->type_name("INT")
      ->check(CLI::Range(1, 1 << 14));
  app.add_option("-m,--iterations", options.problem.iterations, "Iterations at most")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("-t,--tolerance", options.problem.tolerance,
                 "Ends when no cell changes by as much")
      ->check(CLI::Validator(
          [](const std::string& text) -> std::string {
            return std::isfinite(std::strtod(text.c_str(), nullptr)) ? "" : text + " is not finite";
          },
          "finite"))
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--check-interval", options.problem.interval,
                 "Iterations between two tests of convergence")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "Rounds of each variant, interleaved")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  apps::add_options(app, options);
}

}  // namespace

void add_jacobi(CLI::App& parent, tool::Command& command) {
  CLI::App* app =
      parent.add_subcommand("jacobi", "Iterate a 3D grid to a tolerance, by MPI and by streams");
  auto options = std::make_shared<Options>();
  describe(*app, *options);
  tool::add_run_options(*app, command);
  app->callback([options, &command] {
    options->chosen = apps::chosen_comms(*options);
    command.run = [options](const tool::Session& session) { return run_jacobi(*options, session); };
  });
}

}  // namespace penstock::jacobi
