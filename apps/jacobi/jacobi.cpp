// SPDX-License-Identifier: Apache-2.0
// penstock jacobi: Jacobi's iteration with 27 points on a 3D grid of ranks, to a tolerance; the
// test of convergence stays on the stream.
#include "jacobi/jacobi.hpp"

#include <fmt/core.h>

#include <cmath>
#include <cstdlib>
#include <memory>

#include "common/options.hpp"
#include "common/solvers.hpp"
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
        solvers_(options.chosen, options, options.problem, grid_) {}

  void run() {
    solvers_.run(options_.rounds, session_.is_root(), [&](int, std::size_t number) {
      progress_ = solvers_[number].field().progress();
      return progress_.iterations;
    });
  }

  // The last round of each variant against the reference: every cell, every check and the
  // iterations, bit by bit.
  bool verify() const {
    const Reference expected = session_.is_root() ? solve_serially(options_.problem) : Reference{};
    bool right = true;
    for (std::size_t i = 0; i < solvers_.size(); ++i) {
      const std::vector<double> cells = apps::collect(solvers_[i].field().read(), grid_);
      if (session_.is_root()) right = is_equal(solvers_[i], cells, expected) && right;
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
    const std::string note = fmt::format(
        "{}, {} iterations, largest change {:.3g}, checked every {}", apps::text_of(grid_),
        progress_.iterations, progress_.history.back(), options_.problem.interval);
    auto fields = apps::fields_of(grid_);
    fields.emplace_back("iterations", std::to_string(progress_.iterations));
    fields.emplace_back("interval", std::to_string(options_.problem.interval));
    print_rows({"jacobi", "iteration", note, fields}, solvers_.rows(), options_, session_);
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
  apps::Solvers<Solver> solvers_;
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
  apps::add_rounds(app, options.rounds);
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
