// SPDX-License-Identifier: Apache-2.0
// penstock life: Conway's Life on a periodic grid over a 2D grid of ranks, in three ways of exchanging the halos.
#include "life.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "collect.hpp"
#include "picture.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "rle.hpp"
#include "variant.hpp"

namespace penstock::life {
namespace {

struct Options {
  std::string pattern;
  int width = 256;
  int height = 256;
  int generations = 1000;
  int rounds = 9;
  bool verify = false;
  bool as_json = false;
  std::filesystem::path output = "build/demo";
};

// What the rounds leave behind: the times of each variant and, on rank 0, its grid after the last round.
struct Result {
  std::vector<double> step_us;
  std::vector<double> enqueue_us;
  Grid last;
};

// A step takes as long as it takes on the slowest rank.
double slowest(double value) {
  double maximum = 0;
  MPI_Allreduce(&value, &maximum, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return maximum;
}

class Game {
 public:
  Game(const Options& options, const tool::Session& session)
      : options_(options),
        session_(session),
        first_(
            place(parse_rle(read_file_once(options.pattern, session), options.pattern), options.width, options.height)),
        decomposition_(session.size(), options.width, options.height),
        board_(decomposition_.block(session.rank())) {
    variants_.push_back(make_plain_mpi(decomposition_, session.rank(), board_));
    variants_.push_back(make_standard_send(decomposition_, session.rank(), board_));
    variants_.push_back(make_ready_send(decomposition_, session.rank(), board_));
  }

  // The variants take turns within a round, so that a slow moment of the machine hits them alike.
  std::vector<Result> play() {
    std::vector<Result> results(variants_.size(), Result{{}, {}, first_});
    Progress progress(session_.is_root(), options_.rounds * static_cast<int>(variants_.size()));
    for (int round = 0; round < options_.rounds; ++round) {
      for (std::size_t i = 0; i < variants_.size(); ++i) {
        play_once(*variants_[i], results[i], round + 1 == options_.rounds);
        progress.advance(variants_[i]->name());
      }
    }
    return results;
  }

  std::vector<Row> rows(const std::vector<Result>& results) const {
    std::vector<Row> rows;
    for (std::size_t i = 0; i < variants_.size(); ++i) {
      rows.push_back({variants_[i]->name(), variants_[i]->transport(), tool::summarize(results[i].step_us),
                      tool::summarize(results[i].enqueue_us)});
    }
    return rows;
  }

  Setup setup() const {
    return {session_.mpi_name(),   std::filesystem::path(options_.pattern).stem().string(),
            session_.size(),       decomposition_.columns(),
            decomposition_.rows(), options_.width,
            options_.height,       options_.generations,
            options_.rounds,       session_.oversubscribed()};
  }

  // On rank 0: says what was compared, or which cell is wrong. The timed rounds themselves are what is verified.
  bool verify(const std::vector<Result>& results) const {
    const Grid expected = play_serially(first_, options_.generations);
    bool right = true;
    for (std::size_t i = 0; i < variants_.size(); ++i)
      right = is_equal(results[i].last, expected, variants_[i]->name()) && right;
    if (right) {
      fmt::print(
          "verified: {} variants equal a serial run after {} generations on {} x {} cells, {} alive, {} rank{}\n",
          variants_.size(), options_.generations, options_.width, options_.height, count_alive(expected),
          session_.size(), session_.size() == 1 ? "" : "s");
    }
    return right;
  }

 private:
  void play_once(Variant& variant, Result& result, bool last) {
    board_.load(first_);
    const Duration duration = variant.play(board_, options_.generations);
    result.step_us.push_back(slowest(duration.steps_us) / options_.generations);
    result.enqueue_us.push_back(slowest(duration.enqueue_us) / options_.generations);
    if (last) result.last = collect(board_, decomposition_, session_, options_.width, options_.height);
  }

  static bool is_equal(const Grid& grid, const Grid& expected, const char* name) {
    for (int y = 0; y < grid.height(); ++y) {
      const auto difference = std::mismatch(grid.row(y), grid.row(y) + grid.width(), expected.row(y));
      if (difference.first == grid.row(y) + grid.width()) continue;
      fmt::print(stderr, "penstock: {}: cell ({}, {}) differs from the serial run\n", name,
                 difference.first - grid.row(y), y);
      return false;
    }
    return true;
  }

  const Options& options_;
  const tool::Session& session_;
  Grid first_;
  Decomposition decomposition_;
  Board board_;
  std::vector<std::unique_ptr<Variant>> variants_;
};

void write_text(const std::string& text, const std::filesystem::path& path) {
  std::ofstream file(path);
  file << text << '\n';
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

void write_results(const Options& options, const Setup& setup, const std::vector<Row>& rows, const Grid& last) {
  std::filesystem::create_directories(options.output);
  const std::filesystem::path picture = options.output / "life.png";
  const std::filesystem::path table = options.output / "life.json";
  write_png(last, picture);
  write_text(to_json(setup, rows), table);
  if (options.as_json) {
    fmt::print("{}\n", to_json(setup, rows));
  } else {
    print_table(setup, rows);
    fmt::print("last generation: {}\ntable as JSON:   {}\n", picture.string(), table.string());
  }
}

int run_life(const Options& options, const tool::Session& session) {
  Game game(options, session);
  const std::vector<Result> results = game.play();
  const Setup setup = game.setup();
  const std::vector<Row> rows = game.rows(results);
  int status = 0;
  if (session.is_root()) {
    write_results(options, setup, rows, results.back().last);
    if (options.verify && !game.verify(results)) status = 1;
  }
  MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return status;
}

void describe(CLI::App& app, Options& options) {
  app.add_option("pattern", options.pattern, "Pattern file (.rle), for example examples/life/patterns/gosper_gun.rle")
      ->type_name("FILE")
      ->required();
  app.add_option("--width", options.width, "Cells in x")->check(CLI::Range(1, 1 << 15))->capture_default_str();
  app.add_option("--height", options.height, "Cells in y")->check(CLI::Range(1, 1 << 15))->capture_default_str();
  app.add_option("--generations", options.generations, "Steps in a round, all enqueued ahead")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "Rounds of each variant, interleaved")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app.add_flag("--verify", options.verify, "Compare what every variant computed with a serial run");
  app.add_flag("--json", options.as_json, "Print the table as JSON");
  app.add_option("--output", options.output, "Folder for life.png and life.json")
      ->type_name("DIR")
      ->capture_default_str();
}

}  // namespace

void add_life(CLI::App& parent, tool::Command& command) {
  CLI::App* app =
      parent.add_subcommand("life", "Play Conway's Life: MPI's persistent requests beside stream-triggered ones");
  auto options = std::make_shared<Options>();
  describe(*app, *options);
  tool::add_run_options(*app, command);
  app->callback([options, &command] {
    command.run = [options](const tool::Session& session) { return run_life(*options, session); };
  });
}

}  // namespace penstock::life
