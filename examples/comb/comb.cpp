// SPDX-License-Identifier: Apache-2.0
// penstock comb: the halo of a structured mesh in three dimensions, 26 neighbours, all variables in one message each.
#include "comb/comb.hpp"

#include <fmt/core.h>
#include <mpi.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "clock.hpp"
#include "comb/cycle.hpp"
#include "common/agreement.hpp"
#include "common/table.hpp"

namespace penstock::comb {
namespace {

struct Options : examples::Options {
  Problem problem;
  int rounds = 9;
  int cycles = 25;
  std::vector<examples::Comm> chosen;
};

// One row of the tables: how to exchange, and what that took.
struct Variant {
  std::string name;
  bool is_baseline;
  std::unique_ptr<Cycle> cycle;
  std::unique_ptr<examples::Exchange> exchange;
  examples::Samples samples;
  std::vector<examples::OverRanks> phases;
};

class Program {
 public:
  Program(const Options& options, const tool::Session& session)
      : options_(options),
        session_(session),
        problem_(settled(options.problem, session.size())),
        mesh_(mesh_of(problem_, session.rank())) {
    examples::choose_device(options.device);
    examples::together([this] { kernels_ = make_kernels(options_.device, mesh_); });
    add_mock();
    for (const examples::Comm comm : options.chosen) add(comm);
  }

  // The variants take turns, so that a slow moment of the machine hits them alike; the first round is not timed. False
  // where a value was wrong.
  bool run() {
    bool right = true;
    for (int round = 0; round <= options_.rounds; ++round)
      for (Variant& variant : variants_) {
        if (round == 1) variant.exchange->phases().reset();
        const examples::OverRanks us = time(*variant.exchange);
        if (round > 0) variant.samples.add(us);
        right = is_right(variant.name) && right;
      }
    for (Variant& variant : variants_)
      for (const double us : variant.exchange->phases().us())
        variant.phases.push_back(examples::over_ranks(us / options_.rounds / options_.cycles));
    return right;
  }

  void print() const {
    std::vector<examples::Row> rows;
    const double floor = variants_.front().samples.slowest().median;
    for (const Variant& variant : variants_)
      rows.push_back({variant.name, variant.exchange->transport(), variant.is_baseline, variant.samples,
                      variant.samples.slowest().median - floor});
    examples::print_rows(setup(), rows, options_, session_);
    if (!session_.is_root()) return;
    if (options_.as_json)
      print_phases_as_json();
    else
      print_phases();
    if (options_.verify && !options_.as_json)
      fmt::print("verified: every zone and ghost of every cycle, {} variants\n", variants_.size());
  }

 private:
  void add_mock() {
    auto cycle = make_cycle(false);
    auto exchange = examples::make_mock_exchange(options_, *cycle);
    variants_.push_back({"mock", false, std::move(cycle), std::move(exchange), {}, {}});
  }

  void add(examples::Comm comm) {
    auto cycle = make_cycle(true);
    auto exchange = examples::make_exchange(comm, options_, *cycle, options_.cycles);
    variants_.push_back(
        {examples::name_of(comm), examples::is_host_driven(comm), std::move(cycle), std::move(exchange), {}, {}});
  }

  std::unique_ptr<Cycle> make_cycle(bool with_messages) {
    return std::make_unique<Cycle>(neighbours_of(problem_, session_.rank()), *kernels_, with_messages, options_.verify);
  }

  // us a cycle.
  examples::OverRanks time(examples::Exchange& exchange) const {
    exchange.prepare(options_.cycles);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = tool::now_us();
    exchange.run(options_.cycles);
    return examples::over_ranks((tool::now_us() - begin) / options_.cycles);
  }

  bool is_right(const std::string& name) {
    const Tally mine = kernels_->take_tally();
    std::vector<Tally> all(static_cast<std::size_t>(session_.size()));
    MPI_Allgather(&mine, static_cast<int>(sizeof mine), MPI_BYTE, all.data(), static_cast<int>(sizeof mine), MPI_BYTE,
                  MPI_COMM_WORLD);
    unsigned long long wrong = 0;
    for (const Tally& tally : all) wrong += tally.wrong;
    if (wrong == 0) return true;
    const auto first = std::find_if(all.begin(), all.end(), [](const Tally& tally) { return tally.wrong > 0; });
    if (session_.is_root()) describe_wrong(name, wrong, first - all.begin(), first->first);
    return false;
  }

  void describe_wrong(const std::string& name, unsigned long long wrong, std::ptrdiff_t rank,
                      unsigned long long first) const {
    const std::size_t place = first % mesh_.volume();
    const auto width = static_cast<std::size_t>(mesh_.extent(0));
    const auto depth = static_cast<std::size_t>(mesh_.extent(1));
    fmt::print(stderr,
               "penstock: {}: {} wrong values in {} cycles; the first on rank {}: variable {} at ({}, {}, {}), where "
               "ghosts begin at 0 and zones at ({}, {}, {})\n",
               name, wrong, options_.cycles, rank, first / mesh_.volume(), place % width, place / width % depth,
               place / width / depth, mesh_.ghosts[0], mesh_.ghosts[1], mesh_.ghosts[2]);
  }

  void print_phases() const {
    fmt::print("# us of the host in each phase of a cycle: average over ranks (minimum - maximum)\n{:<14}",
               "# variant");
    for (const char* name : examples::phase_names) fmt::print(" {:>26}", name);
    fmt::print("\n");
    for (const Variant& variant : variants_) {
      fmt::print("{:<14}", variant.name);
      for (const examples::OverRanks& us : variant.phases)
        fmt::print(" {:>26}", fmt::format("{:.2f} ({:.2f} - {:.2f})", us.average, us.minimum, us.maximum));
      fmt::print("\n");
    }
  }

  void print_phases_as_json() const {
    nlohmann::ordered_json line{
        {"benchmark", "comb phases"}, {"device", examples::name_of(options_.device)}, {"of", "cycle"}, {"unit", "us"}};
    for (const Variant& variant : variants_)
      for (std::size_t i = 0; i < variant.phases.size(); ++i)
        line[variant.name][examples::phase_names[i]] = {{"average", variant.phases[i].average},
                                                        {"minimum", variant.phases[i].minimum},
                                                        {"maximum", variant.phases[i].maximum}};
    fmt::print("{}\n", line.dump());
  }

  static std::string list(const Triple& triple) { return fmt::format("[{},{},{}]", triple[0], triple[1], triple[2]); }
  static std::string box(const Triple& triple) { return fmt::format("{} x {} x {}", triple[0], triple[1], triple[2]); }

  examples::Setup setup() const {
    return {"comb",
            "cycle",
            fmt::format("ranks {}, zones {} a rank, ghosts {}, periodic {}, {} variables, {} cycles, {} rounds",
                        box(problem_.ranks), box(problem_.zones), box(problem_.ghosts), box(problem_.periodic),
                        problem_.variables, options_.cycles, options_.rounds),
            {{"grid", list(problem_.ranks)},
             {"zones", list(problem_.zones)},
             {"ghosts", list(problem_.ghosts)},
             {"periodic", list(problem_.periodic)},
             {"variables", std::to_string(problem_.variables)},
             {"cycles", std::to_string(options_.cycles)},
             {"rounds", std::to_string(options_.rounds)},
             {"verified", options_.verify ? "true" : "false"}}};
  }

  const Options& options_;
  const tool::Session& session_;
  Problem problem_;
  Mesh mesh_;
  std::unique_ptr<Kernels> kernels_;
  std::vector<Variant> variants_;
};

int run_comb(const Options& options, const tool::Session& session) {
  Program program(options, session);
  if (!program.run()) return 1;
  program.print();
  return 0;
}

void describe(CLI::App& app, Options& options) {
  Problem& problem = options.problem;
  examples::add_triple(app, "--grid", problem.ranks, CLI::Range(1, 1 << 20),
                       "Ranks in x, y and z, with commas (default: MPI_Dims_create)");
  examples::add_triple(app, "--zones", problem.zones, CLI::Range(1, 100000),
                       "Zones of a rank in x, y and z (default: 100,100,100)");
  examples::add_triple(app, "--ghosts", problem.ghosts, CLI::Range(0, 100), "Widths of the halo (default: 1,1,1)");
  examples::add_triple(app, "--periodic", problem.periodic, CLI::Range(0, 1),
                       "Whether the ends of the mesh meet (default: 1,1,1)");
  app.add_option("--variables", options.problem.variables, "Values of a zone, all in one message to a neighbour")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--cycles", options.cycles, "Cycles between two synchronisations")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "Rounds of each variant, interleaved")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  examples::add_options(app, options);
}

}  // namespace

void add_comb(CLI::App& parent, tool::Command& command) {
  CLI::App* app = parent.add_subcommand(
      "comb",
      "Exchange the ghosts of a mesh with 26 neighbours: MPI's ways beside streams and graphs, and no messages");
  auto options = std::make_shared<Options>();
  describe(*app, *options);
  tool::add_run_options(*app, command);
  app->callback([options, &command] {
    options->chosen = examples::chosen_comms(*options);
    command.run = [options](const tool::Session& session) { return run_comb(*options, session); };
  });
}

}  // namespace penstock::comb
