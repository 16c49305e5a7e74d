// SPDX-License-Identifier: Apache-2.0
// penstock bench overlap: how much of the time that messages take is hidden behind what a program
// does meanwhile, and what that costs.
#include "overlap.hpp"

#include <fmt/core.h>
#include <mpi.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "json_line.hpp"
#include "overlap_side.hpp"
#include "overlap_traffic.hpp"
#include "overlap_work.hpp"
#include "round_options.hpp"
#include "rounds.hpp"
#include "run_delay.hpp"
#include "support/clock.hpp"
#include "support/progress.hpp"
#include "support/statistics.hpp"

namespace penstock::bench {
namespace {

const std::map<std::string, Moves> moves_by_name{
    {"exchange", Moves::exchange}, {"window", Moves::window},   {"stencil3d", Moves::stencil3d},
    {"gather", Moves::gather},     {"scatter", Moves::scatter}, {"alltoall", Moves::alltoall}};
const std::map<std::string, Compute> computes{{"cpu", Compute::cpu}, {"idle", Compute::idle}};

struct OverlapOptions {
  Moves moves = Moves::exchange;
  Compute compute = Compute::idle;
  std::vector<std::size_t> sizes{65536, 1 << 20, 4 << 20};
  int rounds = 5;
  int iterations = 0;  // 0: by size
  int tests = 10;
  int window = 64;
  bool as_json = false;

  int iterations_of(std::size_t bytes) const {
    if (iterations > 0) return iterations;
    constexpr std::size_t moved = std::size_t{64} << 20;
    return static_cast<int>(
        std::clamp<std::size_t>(moved / std::max<std::size_t>(bytes, 1), 10, 200));
  }
};

template <class Value>
std::string name_in(const std::map<std::string, Value>& names, Value value) {
  return std::ranges::find(names, value, [](const auto& each) { return each.second; })->first;
}

// Of one round: microseconds a step on the slowest rank.
struct Times {
  double pure = 0;  // messages alone
  double work = 0;  // what is done besides alone
  double all = 0;   // both
  double cpu = 0;   // of all threads of a rank, in a step of both

  double overlap() const { return std::max(0.0, 1 - (all - work) / pure); }
  // Of what could be saved at most: 1 is all of it, 0 is one after the other, less is a loss.
  double gain() const { return (pure + work - all) / std::min(pure, work); }
};

class Measurer {
 public:
  Measurer(const Work& work, int iterations, int tests)
      : work_(work), iterations_(iterations), tests_(tests) {}

  Times measure(OverlapSide& side) const {
    Times times;
    times.pure = time_steps([&] { side.make_trips(0, 1, 1); });
    times.work = time_steps([&] { work_.run(times.pure, tests_, [] {}); });
    times.all = time_steps(
        [&] {
          side.start();
          work_.run(times.pure, tests_, [&] { side.test(); });
          side.wait();
        },
        &times.cpu);
    return times;
  }

 private:
  // A barrier before each step keeps ranks together that do not wait for each other. Its time does
  // not count, but its CPU does, by as much for every side.
  double time_steps(const std::function<void()>& step, double* cpu = nullptr) const {
    double microseconds = 0;
    const ThreadTimes before = thread_times();
    for (int i = 0; i < iterations_; ++i) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = tool::now_us();
      step();
      microseconds += tool::now_us() - begin;
    }
    if (cpu != nullptr) {
      ThreadTimes passed;
      add_passed(passed, before);
      *cpu = slowest(passed.ran * 1e6 / iterations_);
    }
    return slowest(microseconds / iterations_);
  }

  const Work& work_;
  const int iterations_, tests_;
};

struct SideTimes {
  std::string name;
  std::vector<Times> rounds{};

  template <class Get>
  tool::Summary summary(Get get) const {
    std::vector<double> values;
    for (const Times& each : rounds) values.push_back(std::invoke(get, each));
    return tool::summarize(values);
  }
};

std::vector<std::unique_ptr<OverlapSide>> make_sides(const OverlapOptions& options,
                                                     const tool::Session& session,
                                                     std::size_t bytes) {
  const Traffic traffic =
      overlap_traffic(options.moves, session.rank(), session.size(), bytes, options.window);
  std::vector<std::unique_ptr<OverlapSide>> sides;
  sides.push_back(make_mpi_overlap(traffic));
  if (auto side = make_engine_overlap(traffic)) sides.push_back(std::move(side));
  sides.push_back(make_stream_overlap(traffic));
  return sides;
}

// Two steps, so that what is left of the first shows.
void require_right_bytes(OverlapSide& side, std::size_t bytes) {
  for (std::uint64_t step = 1; step <= 2; ++step) {
    side.fill(step);
    MPI_Barrier(MPI_COMM_WORLD);
    side.make_trips(0, 1, 1);
    if (const std::size_t wrong = side.count_wrong(step); wrong != 0)
      throw std::runtime_error(fmt::format("check failed: {}, messages of {} bytes: {} wrong bytes",
                                           side.name(), bytes, wrong));
  }
}

void print_header(const OverlapOptions& options, const tool::Session& session) {
  if (options.as_json) return;
  fmt::print(
      "# bench overlap, {} of {} ranks, {}, work: {}, {} tests in it\n"
      "# us a step on the slowest rank, medians; every byte is checked before. overlap: of the "
      "messages'\n# time; gain: of what could be saved, 1 is all and below 0 a loss; CPU: of all "
      "threads of a rank\n"
      "#  bytes side            messages      work      both  overlap   gain       spread      "
      "CPU\n",
      name_in(moves_by_name, options.moves), session.size(), session.mpi_name(),
      name_in(computes, options.compute), options.tests);
}

void print_row(const OverlapOptions& options, const tool::Session& session, std::size_t bytes,
               const SideTimes& side) {
  const auto pure = side.summary(&Times::pure), work = side.summary(&Times::work),
             all = side.summary(&Times::all), cpu = side.summary(&Times::cpu),
             overlap = side.summary(&Times::overlap), gain = side.summary(&Times::gain);
  if (!options.as_json) {
    fmt::print("{:8} {:12} {:11.1f} {:9.1f} {:9.1f} {:7.0f}% {:6.2f} {:>12} {:8.1f}\n", bytes,
               side.name, pure.median, work.median, all.median, 100 * overlap.median, gain.median,
               tool::spread_text(gain), cpu.median);
    return;
  }
  fmt::print("{}\n", nlohmann::ordered_json{{"benchmark", "overlap"},
                                            {"traffic", name_in(moves_by_name, options.moves)},
                                            {"compute", name_in(computes, options.compute)},
                                            {"ranks", session.size()},
                                            {"bytes", bytes},
                                            {"side", side.name},
                                            {"unit", "us"},
                                            {"messages", samples_to_json(pure)},
                                            {"work", samples_to_json(work)},
                                            {"both", samples_to_json(all)},
                                            {"cpu", samples_to_json(cpu)},
                                            {"overlap", samples_to_json(overlap)},
                                            {"gain", samples_to_json(gain)},
                                            {"tests", options.tests},
                                            {"iterations", options.iterations_of(bytes)},
                                            {"library", session.mpi_name()},
                                            {"thread_level",
                                             tool::thread_level_name(session.thread_level())}}
                         .dump());
}

void require_ranks(const OverlapOptions& options, const tool::Session& session) {
  const std::string name = name_in(moves_by_name, options.moves);
  if (goes_in_pairs(options.moves) && session.size() % 2 != 0)
    throw tool::UserError(fmt::format(
        "bench overlap --traffic {} needs an even number of ranks and has {}: run it as mpiexec -n "
        "2 penstock bench overlap",
        name, session.size()));
  if (session.size() < 2)
    throw tool::UserError(
        fmt::format("bench overlap --traffic {} needs at least 2 ranks: run it "
                    "as mpiexec -n 2 penstock bench overlap --traffic {}",
                    name, name));
}

int run_overlap(const OverlapOptions& options, const tool::Session& session) {
  require_ranks(options, session);
  const Work work(options.compute);
  ThreadTimes measured;
  if (session.is_root()) print_header(options, session);
  tool::Progress progress(session.is_root(),
                          static_cast<int>(options.sizes.size()) * options.rounds);
  for (const std::size_t bytes : options.sizes) {
    const auto sides = make_sides(options, session, bytes);
    const Measurer measurer(work, options.iterations_of(bytes), options.tests);
    std::vector<SideTimes> times;
    for (const auto& side : sides) {
      require_right_bytes(*side, bytes);
      times.push_back({side->name()});
    }
    const ThreadTimes before = thread_times();
    for (int round = 0; round < options.rounds; ++round) {
      for (std::size_t i = 0; i < sides.size(); ++i)
        times[i].rounds.push_back(measurer.measure(*sides[i]));
      progress.advance(fmt::format("{} bytes", bytes));
    }
    add_passed(measured, before);
    progress.clear();
    if (session.is_root())
      for (const SideTimes& each : times) print_row(options, session, bytes, each);
  }
  warn_of_run_delay(measured, session);
  return 0;
}

}  // namespace

void add_overlap(CLI::App& bench, tool::Command& command) {
  const auto options = std::make_shared<OverlapOptions>();
  CLI::App* const app = bench.add_subcommand("overlap",
                                             "How much of the messages' time is hidden behind work "
                                             "of the host, by MPI and by streams, and "
                                             "what it costs");
  add_choice(
      *app, "--traffic", options->moves, moves_by_name,
      "What a step sends: exchange (pairs of ranks, a message each way; the default), window "
      "(--window messages one way), stencil3d (6 neighbours), gather, scatter, alltoall");
  add_choice(*app, "--compute", options->compute, computes,
             "The work: idle (it sleeps, as beside a GPU; the default) or cpu (it computes)");
  app->add_option("--sizes", options->sizes, "Bytes of a message, with commas")
      ->delimiter(',')
      ->check(size_of_message(1))
      ->capture_default_str();
  app->add_option("--rounds", options->rounds, "Rounds of each side, in turns")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app->add_option("--iterations", options->iterations,
                  "Steps of each measurement (default: by size, 10 to 200)")
      ->check(CLI::Range(1, 10'000'000));
  app->add_option("--tests", options->tests, "Calls of MPI_Testall in the work")
      ->check(CLI::Range(0, 10000))
      ->capture_default_str();
  app->add_option("--window", options->window, "Messages of a window")
      ->check(CLI::Range(1, 512))
      ->capture_default_str();
  app->add_flag("--json", options->as_json,
                "Print JSON, a line for each row: the lines together are not one JSON text");
  tool::add_run_options(*app, command);
  app->callback([options, &command] {
    command.run = [options](const tool::Session& session) {
      return run_overlap(*options, session);
    };
  });
}

}  // namespace penstock::bench
