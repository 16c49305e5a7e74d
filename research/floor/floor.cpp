// SPDX-License-Identifier: Apache-2.0
// penstock_floor: the bare pair of kernels between two ranks, in streams and graphs, with and
// without dependent launch. MPI launches the ranks and carries the handles of their memory; the
// library is not used.
#include <fmt/core.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "options.hpp"
#include "side.hpp"
#include "support/statistics.hpp"

namespace penstock::bench::floor {
namespace {

using Sides = std::vector<std::unique_ptr<Side>>;
constexpr std::size_t most_by_lines = 512 * 1024;
constexpr std::size_t least_by_push = 64 * 1024;

template <class Enum, std::size_t count>
Enum named(const std::array<std::string_view, count>& names, const std::string& name) {
  return static_cast<Enum>(std::find(names.begin(), names.end(), name) - names.begin());
}

template <class Enum, std::size_t count>
std::string name_of(const std::array<std::string_view, count>& names, Enum value) {
  return std::string(names[static_cast<std::size_t>(value)]);
}

const char* mode_of(const Setup& setup) {
  return setup.graph ? "graph" : "stream";
}

class Program {
 public:
  Program(const Options& options, int rank) : options_(options), rank_(rank) {}

  void run() {
    const auto sizes = sizes_of(options_);
    if (options_.steps)
      run_steps(sizes);
    else
      run_floor(sizes);
  }

 private:
  Setup setup_for(std::size_t bytes) const {
    return {.bytes = bytes,
            .handover = named<Handover>(handover_names, options_.handover),
            .caller = named<Caller>(caller_names, options_.caller),
            .check = options_.check};
  }

  void add(Sides& sides, const Setup& setup) {
    sides.push_back(std::make_unique<Side>(setup, rank_, stream_.get()));
  }

  void add_modes(Sides& sides, Setup setup) {
    for (const std::string& mode : options_.modes)
      for (const std::string& launch : options_.launches) {
        setup.graph = mode == "graph";
        if (setup.graph && setup.way == Way::inside) continue;  // epochs are the launch's
        setup.dependent = launch == "dependent";
        add(sides, setup);
      }
  }

  void measure(const Sides& sides, int trips) const {
    for (int round = 0; round < options_.rounds; ++round)
      for (const auto& side : sides) side->run_round(trips);
    for (const auto& side : sides) side->require_right();
  }

  void run_floor(const std::vector<std::size_t>& sizes) {
    print(
        "# The bare pair of kernels; us, half round trips; medians and quartiles of {} rounds{}\n",
        options_.rounds, options_.check ? ", every byte checked" : "");
    print("{:>10} {:>6} {:>6} {:>8} {:>10} {:>10} {:>19}\n", "# bytes", "way", "blocks", "mode",
          "launch", "us", "spread");
    for (const std::size_t bytes : sizes)
      for (const Way way : {Way::lines, Way::push, Way::trip, Way::inside}) {
        if (way != Way::push ? bytes > most_by_lines : bytes < least_by_push || bytes % 16 != 0)
          continue;
        // Their bytes are not checked, as no kernel of the check's stands between two of them.
        if (options_.check && (way == Way::trip || way == Way::inside)) continue;
        Setup setup = setup_for(bytes);
        setup.way = way;
        Sides sides;
        add_modes(sides, setup);
        const int trips = trips_for(options_, bytes);
        measure(sides, trips);
        for (const auto& side : sides) print_floor(*side, trips);
      }
  }

  void print_floor(const Side& side, int trips) const {
    if (rank_ != 0) return;
    const Setup& setup = side.setup();
    const tool::Summary us = tool::summarize(side.samples());
    if (options_.as_json) {
      print_json({{"benchmark", "floor"},
                  {"device", "cuda"},
                  {"mode", mode_of(setup)},
                  {"launch", setup.dependent ? "dependent" : "plain"},
                  {"way", name_of(way_names, setup.way)},
                  {"bytes", setup.bytes},
                  {"unit", "us"},
                  {"floor", {{"median", us.median}, {"low", us.low}, {"high", us.high}}},
                  {"blocks", side.shape().blocks},
                  {"handover", options_.handover},
                  {"caller", options_.caller},
                  {"rounds", options_.rounds},
                  {"iterations", trips},
                  {"checked", options_.check}});
    } else {
      print("{:>10} {:>6} {:>6} {:>8} {:>10} {:>10.2f} {:>19}\n", setup.bytes,
            name_of(way_names, setup.way), side.shape().blocks, mode_of(setup),
            setup.dependent ? "dependent" : "plain", us.median, tool::spread_text(us));
    }
    std::fflush(stdout);
  }

  // What is compared: a name, and what differs from the least code with dependent launch.
  struct Case {
    std::string name;
    Setup setup;
  };

  std::vector<Case> cases_for(std::size_t bytes) const {
    std::vector<Case> cases;
    for (std::size_t step = 0; step < step_names.size(); ++step) {
      Setup setup = setup_for(bytes);
      setup.step = static_cast<Step>(step);
      cases.push_back({std::string(step_names[step]), setup});
    }
    Setup driver = cases.back().setup;
    driver.caller = Caller::driver;
    cases.push_back({"+ launched by the driver's call", driver});
    for (std::size_t handover = 0; handover < handover_names.size(); ++handover) {
      Setup setup = setup_for(bytes);
      setup.handover = static_cast<Handover>(handover);
      cases.push_back({fmt::format("least, successor let in {}", handover_names[handover]), setup});
    }
    Setup plain = setup_for(bytes);
    plain.dependent = false;
    cases.push_back({"least, no dependent launch", plain});
    plain.caller = Caller::driver;
    cases.push_back({"least, no dependent launch, driver's call", plain});
    Setup least = setup_for(bytes);
    least.caller = Caller::driver;
    cases.push_back({"least, driver's call", least});
    return cases;
  }

  void run_steps(const std::vector<std::size_t>& sizes) {
    struct Column {
      std::string mode;
      std::size_t bytes;
      Sides sides;
      std::vector<double> costs;
    };
    std::vector<Column> columns;
    for (const std::string& mode : options_.modes)
      for (const std::size_t bytes : sizes) {
        Column& column = columns.emplace_back(Column{mode, bytes, {}, {}});
        for (const Case& each : cases_for(bytes)) {
          Setup setup = each.setup;
          setup.graph = mode == "graph";
          add(column.sides, setup);
        }
        measure(column.sides, trips_for(options_, bytes));
        for (const auto& side : column.sides)
          column.costs.push_back(setup_is_graph(*side) ? 0 : side->enqueue_cost());
      }
    if (rank_ != 0) return;
    const auto cases = cases_for(sizes.front());
    if (!options_.as_json) {
      print(
          "# From the least code to the library's; us, half round trips, medians of {} "
          "rounds; in streams also what the launches of a round trip cost the caller\n"
          "{:<46}",
          options_.rounds, "#");
      for (const Column& column : columns)
        print(" {:>16}", fmt::format("{} {}", column.mode, column.bytes));
      print("\n");
    }
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (!options_.as_json) print("{:<46}", cases[i].name);
      for (const Column& column : columns) {
        const tool::Summary us = tool::summarize(column.sides[i]->samples());
        if (options_.as_json)
          print_json({{"benchmark", "floor steps"},
                      {"device", "cuda"},
                      {"step", cases[i].name},
                      {"mode", column.mode},
                      {"bytes", column.bytes},
                      {"unit", "us"},
                      {"floor", {{"median", us.median}, {"low", us.low}, {"high", us.high}}},
                      {"enqueue_us", column.costs[i]},
                      {"rounds", options_.rounds}});
        else if (column.mode == "graph")
          print(" {:>16.2f}", us.median);
        else
          print(" {:>16}", fmt::format("{:.2f} ({:.2f})", us.median, column.costs[i]));
      }
      if (!options_.as_json) print("\n");
    }
  }

  static bool setup_is_graph(const Side& side) { return side.setup().graph; }

  void print_json(nlohmann::ordered_json line) const { fmt::print("{}\n", line.dump()); }

  template <class... Arguments>
  void print(fmt::format_string<Arguments...> text, Arguments&&... arguments) const {
    if (rank_ == 0 && !options_.as_json) fmt::print(text, std::forward<Arguments>(arguments)...);
  }

  const Options& options_;
  int rank_;
  CudaStream stream_;
};

void choose_device(int rank) {
  int devices = 0;
  if (const cudaError_t code = cudaGetDeviceCount(&devices); code != cudaSuccess || devices == 0)
    throw std::invalid_argument(fmt::format("a GPU is needed: {}", cudaGetErrorString(code)));
  CHECK_CUDA(cudaSetDevice(rank % devices));
}

int run(int argc, char** argv, int rank, int ranks) {
  CLI::App app;
  Options options;
  describe(app, options);
  try {
    app.parse(argc, argv);
    if (ranks != 2)
      throw std::invalid_argument(fmt::format(
          "exactly 2 ranks are needed, not {}: mpiexec -n 2 penstock_floor ...", ranks));
    static_cast<void>(sizes_of(options));
    choose_device(rank);
  } catch (const CLI::ParseError& error) {
    return rank == 0 ? app.exit(error) : error.get_exit_code();
  } catch (const std::invalid_argument& error) {  // found by both ranks alike
    if (rank == 0) fmt::print(stderr, "penstock_floor: {}\n", error.what());
    return 1;
  }
  Program(options, rank).run();
  return 0;
}

}  // namespace
}  // namespace penstock::bench::floor

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int status = 1;
  try {
    status = penstock::bench::floor::run(argc, argv, rank, ranks);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "penstock_floor: rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}
