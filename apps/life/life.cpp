// SPDX-License-Identifier: Apache-2.0
// penstock life: Conway's Life on a periodic grid over a 2D grid of ranks, in several ways of
// exchanging the halos.
#include "life.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collect.hpp"
#include "common/options.hpp"
#include "picture.hpp"
#include "report.hpp"
#include "rle.hpp"
#include "support/progress.hpp"
#include "variant.hpp"

namespace penstock::life {
namespace {

struct Options : apps::Options {
  std::string pattern;  // none: gliders
  int width = 256;
  int height = 256;
  int generations = 1000;
  int rounds = 9;
  std::vector<apps::Comm> chosen;
  std::filesystem::path output = "build/demo";
};

// What the rounds leave behind: the times of each variant and, on rank 0, its grid after the last
// round, and the sum of each generation of a further one.
struct Result {
  std::vector<double> step_us;
  std::vector<double> enqueue_us;
  std::optional<Grid> last;
  std::vector<std::uint64_t> sums;
};

// A step takes as long as it takes on the slowest rank.
double slowest(double value) {
  double maximum = 0;
  MPI_Allreduce(&value, &maximum, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return maximum;
}

Grid first_generation(const Options& options, const tool::Session& session) {
  if (options.pattern.empty()) return gliders(options.width, options.height);
  return place(parse_rle(read_file_once(options.pattern, session), options.pattern), options.width,
               options.height);
}

// Added up over the ranks, on rank 0.
std::vector<std::uint64_t> add_up(const std::vector<std::uint64_t>& mine) {
  std::vector<std::uint64_t> sums(mine.size());
  MPI_Reduce(mine.data(), sums.data(), static_cast<int>(mine.size()), MPI_UINT64_T, MPI_SUM, 0,
             MPI_COMM_WORLD);
  return sums;
}

class Game {
 public:
  Game(const Options& options, const tool::Session& session)
      : options_(options),
        session_(session),
        first_(first_generation(options, session)),
        blocks_(MPI_COMM_WORLD, {options.height, options.width}, {true, true}) {
    for (const apps::Comm comm : options.chosen) {
      variants_.push_back(std::make_unique<Variant>(comm, options, blocks_));
    }
  }

  // The variants take turns within a round, so that a slow moment of the machine hits them alike.
  std::vector<Result> play() {
    std::vector<Result> results(variants_.size());
    tool::Progress progress(session_.is_root(),
                            options_.rounds * static_cast<int>(variants_.size()));
    for (int round = 0; round < options_.rounds; ++round) {
      for (std::size_t i = 0; i < variants_.size(); ++i) {
        play_once(*variants_[i], results[i], round + 1 == options_.rounds);
        progress.advance(variants_[i]->name());
      }
    }
    if (!options_.verify) return results;
    for (std::size_t i = 0; i < variants_.size(); ++i) {
      results[i].sums = add_up(variants_[i]->watch(first_, options_.generations));
    }
    return results;
  }

  std::vector<Row> rows(const std::vector<Result>& results) const {
    std::vector<Row> rows;
    for (std::size_t i = 0; i < variants_.size(); ++i) {
      rows.push_back({variants_[i]->name(), variants_[i]->transport(),
                      apps::is_host_driven(variants_[i]->comm()),
                      tool::summarize(results[i].step_us), tool::summarize(results[i].enqueue_us)});
    }
    return rows;
  }

  Setup setup() const {
    const std::string pattern = options_.pattern.empty()
                                    ? "gliders"
                                    : std::filesystem::path(options_.pattern).stem().string();
    return {session_.mpi_name(),
            apps::name_of(options_.device),
            pattern,
            session_.size(),
            static_cast<int>(blocks_.ranks()[1]),
            static_cast<int>(blocks_.ranks()[0]),
            options_.width,
            options_.height,
            options_.generations,
            options_.rounds,
            options_.device == apps::DeviceKind::host && session_.oversubscribed()};
  }

  // On rank 0: says what was compared, or what is wrong. The grids are what the timed rounds have
  // left behind.
  bool verify(const std::vector<Result>& results) const {
    Grid expected = first_;
    std::vector<std::uint64_t> sums;
    for (int generation = 0; generation < options_.generations; ++generation) {
      expected = play_serially(std::move(expected), 1);
      sums.push_back(census(expected));
    }
    bool right = true;
    for (std::size_t i = 0; i < variants_.size(); ++i) {
      right = is_equal(*results[i].last, expected, variants_[i]->name()) && right;
      right = is_equal(results[i].sums, sums, variants_[i]->name()) && right;
    }
    if (right && !options_.as_json) {
      fmt::print(
          "verified: {} variants equal a serial run in each of {} generations on {} x {} cells, {} "
          "alive, {} rank{}\n",
          variants_.size(), options_.generations, options_.width, options_.height,
          count_alive(expected), session_.size(), session_.size() == 1 ? "" : "s");
    }
    return right;
  }

 private:
  void play_once(Variant& variant, Result& result, bool last) {
    const Duration duration = variant.play(first_, options_.generations);
    result.step_us.push_back(slowest(duration.steps_us) / options_.generations);
    result.enqueue_us.push_back(slowest(duration.enqueue_us) / options_.generations);
    if (last) result.last = collect(variant.board().read(options_.generations), blocks_, session_);
  }

  static bool is_equal(const Grid& grid, const Grid& expected, const std::string& name) {
    for (int y = 0; y < grid.height(); ++y) {
      const auto difference =
          std::mismatch(grid.row(y), grid.row(y) + grid.width(), expected.row(y));
      if (difference.first == grid.row(y) + grid.width()) continue;
      fmt::print(stderr, "penstock: {}: cell ({}, {}) differs from the serial run\n", name,
                 difference.first - grid.row(y), y);
      return false;
    }
    return true;
  }

  static bool is_equal(const std::vector<std::uint64_t>& sums,
                       const std::vector<std::uint64_t>& expected, const std::string& name) {
    const auto [difference, end] =
        std::mismatch(sums.begin(), sums.end(), expected.begin(), expected.end());
    if (difference == sums.end() && end == expected.end()) return true;
    fmt::print(stderr, "penstock: {}: generation {} differs from the serial run\n", name,
               difference - sums.begin() + 1);
    return false;
  }

  const Options& options_;
  const tool::Session& session_;
  Grid first_;
  halo::Grid<2> blocks_;
  std::vector<std::unique_ptr<Variant>> variants_;
};

void write_text(const std::string& text, const std::filesystem::path& path) {
  std::ofstream file(path);
  file << text << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

void write_results(const Options& options, const Setup& setup, const std::vector<Row>& rows,
                   const Grid& last) {
  std::filesystem::create_directories(options.output);
  const std::filesystem::path picture = options.output / "life.png";
  const std::filesystem::path table = options.output / "life.json";
  write_png(last, picture);
  write_text(to_json(setup, rows, 2), table);
  if (options.as_json) {
    fmt::print("{}\n", to_json(setup, rows, -1));
  } else {
    print_table(setup, rows);
    fmt::print("last generation: {}\ntable as JSON:   {}\n", picture.string(), table.string());
  }
}

std::unique_ptr<Game> make_game(const Options& options, const tool::Session& session) {
  try {
    apps::choose_device(options.device);
    return std::make_unique<Game>(options, session);
  } catch (const Error& error) {
    // On all ranks alike.
    if (error.kind() == PST_ERROR_ARGUMENT) throw tool::UserError(error.what());
    throw;
  }
}

int run_life(const Options& options, const tool::Session& session) {
  const std::unique_ptr<Game> made = make_game(options, session);
  Game& game = *made;
  const std::vector<Result> results = game.play();
  const Setup setup = game.setup();
  const std::vector<Row> rows = game.rows(results);
  int status = 0;
  if (session.is_root()) {
    write_results(options, setup, rows, *results.back().last);
    if (options.verify && !game.verify(results)) status = 1;
  }
  MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return status;
}

void describe(CLI::App& app, Options& options) {
  app.add_option("pattern", options.pattern,
                 "Pattern file (.rle), as those in the sources' apps/life/patterns (default: "
                 "a glider in each 8 x 8 cells)")
      ->type_name("FILE");
  app.add_option_function<int>(
         "-n", [&options](int cells) { options.width = options.height = cells; },
         "Cells in x and in y")
      ->type_name("INT")
      ->check(CLI::Range(1, 1 << 15));
  app.add_option("--width", options.width, "Cells in x")
      ->check(CLI::Range(1, 1 << 15))
      ->capture_default_str();
  app.add_option("--height", options.height, "Cells in y")
      ->check(CLI::Range(1, 1 << 15))
      ->capture_default_str();
  app.add_option("-t,--generations", options.generations, "Steps in a round, all enqueued ahead")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  apps::add_rounds(app, options.rounds);
  options.verify = false;
  app.add_flag("--verify", options.verify,
               "Compare what every variant computed, in every step, with a serial run");
  apps::add_options(app, options);
  app.add_option("--output", options.output, "Folder for life.png and life.json")
      ->type_name("DIR")
      ->capture_default_str();
}

}  // namespace

void add_life(CLI::App& parent, tool::Command& command) {
  CLI::App* app =
      parent.add_subcommand("life", "Play Conway's Life by MPI and by streams, verified and timed");
  auto options = std::make_shared<Options>();
  describe(*app, *options);
  tool::add_run_options(*app, command);
  app->callback([options, &command] {
    options->chosen = apps::chosen_comms(*options);
    command.run = [options](const tool::Session& session) { return run_life(*options, session); };
  });
}

}  // namespace penstock::life
