// SPDX-License-Identifier: Apache-2.0
// penstock cg: conjugate gradients on a matrix of 27 points over a 3D grid of ranks; the products
// of vectors stay on the stream.
#include "cg/cg.hpp"

#include <fmt/core.h>

#include <cmath>
#include <cstdlib>
#include <memory>

#include "cg/reference.hpp"
#include "cg/solver.hpp"
#include "common/options.hpp"
#include "common/solvers.hpp"
#include "common/whole_grid.hpp"

namespace penstock::cg {
namespace {

struct Options : apps::Options {
  Options() {
    offered.push_back(apps::Comm::stream_nccl);
    offered.push_back(apps::Comm::graph_nccl);
  }
  int cells = 32;  // of each rank, in each dimension
  Problem problem;
  int rounds = 3;
  std::vector<apps::Comm> chosen;
};

halo::Grid<3> make_grid(int cells) {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int ranks[3] = {0, 0, 0};
  MPI_Dims_create(size, 3, ranks);
  const halo::Index<3> across{ranks[0], ranks[1], ranks[2]};
  return {MPI_COMM_WORLD,
          {across[0] * cells, across[1] * cells, across[2] * cells},
          {false, false, false},
          across};
}

Problem on(const halo::Grid<3>& grid, Problem problem) {
  problem.cells = grid.cells();
  return problem;
}

// Whether all ranks have the same numbers, bit by bit. Collective.
bool is_everywhere(const History& mine) {
  History first = mine;
  std::uint64_t count = mine.size();
  MPI_Bcast(&count, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  first.resize(count);
  MPI_Bcast(first.data(), static_cast<int>(count), MPI_DOUBLE, 0, MPI_COMM_WORLD);
  int same = first == mine ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  return same != 0;
}

// Rounding goes its own way with each order of additions, and the more so the smaller a residual
// is: below what a double tells of the first one it says nothing.
bool is_near(const History& history, const History& expected, double first) {
  constexpr double of_each = 1e-6;
  constexpr double of_first = 1e-22;
  if (history.size() != expected.size()) return false;
  for (std::size_t i = 0; i < history.size(); ++i) {
    const double difference = std::abs(history[i] - expected[i]);
    if (!(difference <= of_each * expected[i] + of_first * first)) return false;
  }
  return true;
}

class Program {
 public:
  Program(const Options& options, const tool::Session& session)
      : options_(options),
        session_(session),
        grid_(make_grid(options.cells)),
        problem_(on(grid_, options.problem)),
        solvers_(options.chosen, options, problem_, grid_),
        histories_(options.chosen.size()) {}

  void run() {
    solvers_.run(options_.rounds, session_.is_root(), [&](int round, std::size_t number) {
      const History history = solvers_[number].system().history();
      if (round == 0) histories_[number] = history;
      repeats_ = is_everywhere(history) && history == histories_[number] && repeats_;
      return history.size();
    });
  }

  // That all rounds and ranks have the same bits, that each iteration is as far as a serial run,
  // and that the solution leaves no larger residual than the last one told.
  bool verify() const {
    int repeat = repeats_ ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &repeat, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    bool right = repeat != 0;
    if (!right && session_.is_root())
      fmt::print(stderr, "penstock: residuals differ between rounds or ranks\n");
    const History expected = session_.is_root() ? solve_serially(problem_) : History{};
    for (std::size_t i = 0; i < solvers_.size(); ++i) {
      const std::vector<double> solution = apps::collect(solvers_[i].system().solution(), grid_);
      if (session_.is_root()) right = is_right(i, solution, expected) && right;
    }
    if (right && session_.is_root() && !options_.as_json)
      fmt::print(
          "verified: {} variants have the residuals of a serial run in {} iterations, and the same "
          "bits in {} rounds, {} rank{}\n",
          solvers_.size(), expected.size(), options_.rounds, session_.size(),
          session_.size() == 1 ? "" : "s");
    return right;
  }

  void print() const {
    const History& history = histories_.front();
    const double left = std::sqrt(history.back() / first_residual());
    const std::string note = fmt::format("{}, {} iterations, residual {:.3g} of the first one",
                                         apps::text_of(grid_), history.size(), left);
    auto fields = apps::fields_of(grid_);
    fields.emplace_back("iterations", std::to_string(history.size()));
    fields.emplace_back("residual", fmt::format("{}", left));
    print_rows({"cg", "iteration", note, fields}, solvers_.rows(), options_, session_);
  }

 private:
  double first_residual() const { return solvers_[0].system().first_residual(); }

  bool is_right(std::size_t number, const std::vector<double>& solution,
                const History& expected) const {
    constexpr double rounding = 1e-10;
    const History& history = histories_[number];
    const double first = first_residual();
    const bool same_way = is_near(history, expected, first);
    const bool solved = largest_residual(problem_.cells, solution) <=
                        std::sqrt(history.back()) + rounding * std::sqrt(first);
    const std::string name = solvers_[number].name();
    if (!same_way)
      fmt::print(stderr, "penstock: {}: a residual differs from the serial run's\n", name);
    if (!solved)
      fmt::print(stderr, "penstock: {}: the solution is further off than its residual says\n",
                 name);
    return same_way && solved;
  }

  const Options& options_;
  const tool::Session& session_;
  halo::Grid<3> grid_;
  Problem problem_;
  apps::Solvers<Solver> solvers_;
  std::vector<History> histories_;  // of the first round
  bool repeats_ = true;
};

std::unique_ptr<Program> make_program(const Options& options, const tool::Session& session) {
  try {
    return std::make_unique<Program>(options, session);
  } catch (const NoNccl& error) {  // on all ranks alike
    throw tool::UserError(error.what());
  }
}

int run_cg(const Options& options, const tool::Session& session) {
  apps::choose_device(options.device);
  const std::unique_ptr<Program> program = make_program(options, session);
  program->run();
  program->print();
  int status = options.verify && !program->verify() ? 1 : 0;
  MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return status;
}

void describe(CLI::App& app, Options& options) {
  app.add_option("-n", options.cells, "Cells of each rank in each dimension")
      ->check(CLI::Range(1, 1 << 10))
      ->capture_default_str();
  app.add_option("-m,--iterations", options.problem.iterations, "Iterations at most")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("-t,--tolerance", options.problem.tolerance,
                 "Ends when the residual is this part of the first one (0: after -m iterations)")
      ->check(CLI::Range(0.0, 0.999))
      ->capture_default_str();
  apps::add_rounds(app, options.rounds);
  apps::add_options(app, options);
}

}  // namespace

void add_cg(CLI::App& parent, tool::Command& command) {
  CLI::App* app = parent.add_subcommand(
      "cg", "Solve equations by conjugate gradients on a 3D grid, by MPI and by streams");
  auto options = std::make_shared<Options>();
  describe(*app, *options);
  tool::add_run_options(*app, command);
  app->callback([options, &command] {
    options->chosen = apps::chosen_comms(*options);
    command.run = [options](const tool::Session& session) { return run_cg(*options, session); };
  });
}

}  // namespace penstock::cg
