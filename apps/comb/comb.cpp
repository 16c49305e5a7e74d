// SPDX-License-Identifier: Apache-2.0
// penstock comb: the halo of a structured mesh in three dimensions, 26 neighbours, all variables in
// one message each.
#include "comb/comb.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "comb/cases.hpp"
#include "comb/cycle.hpp"
#include "comb/datatypes.hpp"
#include "common/gpu/gpu.hpp"
#include "common/table.hpp"
#include "support/agreement.hpp"
#include "support/clock.hpp"
#include "support/progress.hpp"

namespace penstock::comb {
namespace {

using apps::Comm;

struct Options : apps::Options {
  Problem problem;
  bool also_pinned = false;
  std::vector<std::size_t> cutoffs;
  int rounds = 9;
  int cycles = 25;
  std::vector<Case> cases;
};

// A case, and what it took.
struct Variant {
  Case how;
  std::unique_ptr<Cycle> cycle;
  std::unique_ptr<apps::Exchange> exchange;
  apps::Samples samples{};
  std::vector<apps::OverRanks> phases{};
};

class Program {
 public:
  Program(const Options& options, const tool::Session& session)
      : options_(options),
        session_(session),
        problem_(settled(options.problem, session.size())),
        mesh_(mesh_of(problem_, session.rank())) {
    apps::choose_device(options.device);
    tool::together([this] { kernels_ = make_kernels(options_.device, mesh_); });
    for (const Case& how : options.cases) add(how);
  }

  // The variants take turns, so that a slow moment of the machine hits them alike; the first round
  // is not timed. False where a value was wrong.
  bool run() {
    bool right = true;
    tool::Progress progress(session_.is_root(),
                            (options_.rounds + 1) * static_cast<int>(variants_.size()));
    for (int round = 0; round <= options_.rounds; ++round)
      for (Variant& variant : variants_) {
        if (round == 1) variant.exchange->phases().reset();
        const apps::OverRanks us = time(*variant.exchange);
        if (round > 0) variant.samples.add(us);
        right = is_right(variant.how.name()) && right;
        progress.advance(variant.how.name());
      }
    for (Variant& variant : variants_)
      for (const double us : variant.exchange->phases().us())
        variant.phases.push_back(apps::over_ranks(us / options_.rounds / options_.cycles));
    return right;
  }

  void print() const {
    std::vector<apps::Row> rows;
    for (const Variant& variant : variants_)
      rows.push_back({variant.how.name(), variant.exchange->transport(),
                      variant.how.comm && apps::is_host_driven(*variant.how.comm), variant.samples,
                      variant.samples.slowest().median - floor_of(variant)});
    apps::print_rows(setup(), rows, options_, session_);
    if (!session_.is_root()) return;
    if (options_.as_json)
      print_phases_as_json();
    else
      print_phases();
    if (options_.verify && !options_.as_json)
      fmt::print("verified: every zone and ghost of every cycle, {} variants\n", variants_.size());
  }

 private:
  void add(const Case& how) {
    auto cycle = std::make_unique<Cycle>(neighbours_of(problem_, session_.rank()), *kernels_,
                                         Cycle::How{.with_messages = how.comm.has_value(),
                                                    .checked = options_.verify,
                                                    .cutoff = how.cutoff});
    auto exchange = make_exchange(how, *cycle);
    variants_.push_back({how, std::move(cycle), std::move(exchange)});
  }

  std::unique_ptr<apps::Exchange> make_exchange(const Case& how, Cycle& cycle) {
    apps::Options options = options_;
    options.pinned = how.pinned;
    if (!how.comm) return apps::make_mock_exchange(options, cycle);
    if (!apps::uses_datatypes(*how.comm))
      return apps::make_exchange(*how.comm, options, cycle, options_.cycles);
    return apps::make_datatype_exchange(
        *how.comm, options, cycle,
        messages_in_place(mesh_, kernels_->values(), cycle.neighbours()));
  }

  double floor_of(const Variant& variant) const {
    const auto floor = std::find_if(variants_.begin(), variants_.end(), [&](const Variant& other) {
      return other.how == variant.how.floor();
    });
    return floor->samples.slowest().median;
  }

  // us a cycle.
  apps::OverRanks time(apps::Exchange& exchange) const {
    exchange.prepare(options_.cycles);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = tool::now_us();
    exchange.run(options_.cycles);
    return apps::over_ranks((tool::now_us() - begin) / options_.cycles);
  }

  bool is_right(const std::string& name) {
    const Tally mine = kernels_->take_tally();
    std::vector<Tally> all(static_cast<std::size_t>(session_.size()));
    MPI_Allgather(&mine, static_cast<int>(sizeof mine), MPI_BYTE, all.data(),
                  static_cast<int>(sizeof mine), MPI_BYTE, MPI_COMM_WORLD);
    unsigned long long wrong = 0;
    for (const Tally& tally : all) wrong += tally.wrong;
    if (wrong == 0) return true;
    const auto first =
        std::find_if(all.begin(), all.end(), [](const Tally& tally) { return tally.wrong > 0; });
    if (session_.is_root()) describe_wrong(name, wrong, first - all.begin(), first->first);
    return false;
  }

  void describe_wrong(const std::string& name, unsigned long long wrong, std::ptrdiff_t rank,
                      unsigned long long first) const {
    const std::size_t place = first % mesh_.volume();
    const auto width = static_cast<std::size_t>(mesh_.extent(0));
    const auto depth = static_cast<std::size_t>(mesh_.extent(1));
    fmt::print(stderr,
               "penstock: {}: {} wrong values in {} cycles; the first on rank {}: variable "
               "{} at ({}, {}, {}), where ghosts begin at 0 and zones at ({}, {}, {})\n",
               name, wrong, options_.cycles, rank, first / mesh_.volume(), place % width,
               place / width % depth, place / width / depth, mesh_.ghosts[0], mesh_.ghosts[1],
               mesh_.ghosts[2]);
  }

  void print_phases() const {
    std::size_t width = 14;
    for (const Variant& variant : variants_) width = std::max(width, variant.how.name().size());
    fmt::print(
        "# us of the host in each phase of a cycle: average over ranks (minimum - maximum)\n{:<{}}",
        "# variant", width);
    for (const char* name : apps::phase_names) fmt::print(" {:>26}", name);
    fmt::print("\n");
    for (const Variant& variant : variants_) {
      fmt::print("{:<{}}", variant.how.name(), width);
      for (const apps::OverRanks& us : variant.phases)
        fmt::print(" {:>26}",
                   fmt::format("{:.2f} ({:.2f} - {:.2f})", us.average, us.minimum, us.maximum));
      fmt::print("\n");
    }
  }

  void print_phases_as_json() const {
    nlohmann::ordered_json line{{"benchmark", "comb phases"},
                                {"device", apps::name_of(options_.device)},
                                {"of", "cycle"},
                                {"unit", "us"}};
    for (const Variant& variant : variants_)
      for (std::size_t i = 0; i < variant.phases.size(); ++i)
        line[variant.how.name()][apps::phase_names[i]] = {{"average", variant.phases[i].average},
                                                          {"minimum", variant.phases[i].minimum},
                                                          {"maximum", variant.phases[i].maximum}};
    fmt::print("{}\n", line.dump());
  }

  static std::string list(const Triple& triple) {
    return fmt::format("[{},{},{}]", triple[0], triple[1], triple[2]);
  }
  static std::string box(const Triple& triple) {
    return fmt::format("{} x {} x {}", triple[0], triple[1], triple[2]);
  }

  apps::Setup setup() const {
    return {
        "comb",
        "cycle",
        fmt::format(
            "ranks {}, zones {} a rank, ghosts {}, periodic {}, {} variables, {} cycles, {} rounds",
            box(problem_.ranks), box(problem_.zones), box(problem_.ghosts), box(problem_.periodic),
            problem_.variables, options_.cycles, options_.rounds),
        {{"grid", list(problem_.ranks)},
         {"zones", list(problem_.zones)},
         {"ghosts", list(problem_.ghosts)},
         {"periodic", list(problem_.periodic)},
         {"variables", std::to_string(problem_.variables)},
         {"cutoffs", fmt::format("[{}]", fmt::join(options_.cutoffs, ","))},
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

// Datatypes are packed from the mesh where it lies.
void require_mpi_takes_mesh(const Options& options) {
  const auto is_datatype = [](const Case& how) { return how.comm == Comm::mpi_datatype; };
  if (options.device == apps::DeviceKind::host ||
      std::none_of(options.cases.begin(), options.cases.end(), is_datatype))
    return;
  if (options.staged)
    throw tool::UserError(
        "--comm mpi-datatype gives MPI the mesh itself, which --staged keeps from it");
  if (!apps::gpu::mpi_takes_device_memory())
    throw tool::UserError(
        "--comm mpi-datatype gives MPI the mesh itself, and this MPI does not say that it takes "
        "the memory of a GPU");
}

int run_comb(const Options& options, const tool::Session& session) {
  require_mpi_takes_mesh(options);
  Program program(options, session);
  if (!program.run()) return 1;
  program.print();
  return 0;
}

void describe(CLI::App& app, Options& options) {
  Problem& problem = options.problem;
  apps::add_triple(app, "--grid", problem.ranks, CLI::Range(1, 1 << 20),
                   "Ranks in x, y and z, with commas (default: MPI_Dims_create)");
  apps::add_triple(app, "--zones", problem.zones, CLI::Range(1, 100000),
                   "Zones of a rank in x, y and z (default: 100,100,100)");
  apps::add_triple(app, "--ghosts", problem.ghosts, CLI::Range(0, 100),
                   "Widths of the halo (default: 1,1,1)");
  apps::add_triple(app, "--periodic", problem.periodic, CLI::Range(0, 1),
                   "Whether the ends of the mesh meet (default: 1,1,1)");
  app.add_option("--variables", options.problem.variables,
                 "Values of a zone, all in one message to a neighbour")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--cutoff", options.cutoffs,
                 "Messages of at least so many values are packed and "
                 "unpacked by a kernel each, smaller ones by one together; "
                 "with commas, one after another (default: all together)")
      ->check(CLI::Range(0, 1 << 30))
      ->delimiter(',');
  app.add_flag("--pinned", options.also_pinned,
               "On a GPU, each MPI variant also with buffers in pinned memory, which kernels write "
               "and read");
  app.add_option("--cycles", options.cycles, "Cycles between two synchronisations")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  apps::add_rounds(app, options.rounds);
  options.offered = {Comm::mpi,    Comm::mpi_waitany,  Comm::mpi_persistent,  Comm::mpi_datatype,
                     Comm::stream, Comm::stream_ready, Comm::stream_datatype, Comm::graph};
  apps::add_options(app, options);
}

// On a GPU datatypes have to be asked for: MPI may copy such a message row by row.
void settle(Options& options) {
  const bool on_gpu = options.device == apps::DeviceKind::gpu;
  std::vector<Comm> comms = apps::chosen_comms(options);
  if (on_gpu && options.comms.empty()) std::erase(comms, Comm::mpi_datatype);
  if (!on_gpu && options.also_pinned)
    throw CLI::ValidationError("--pinned",
                               "is about the memory of messages on a GPU: give --device too");
  options.cases = cases_of(comms, options.also_pinned, options.cutoffs);
}

}  // namespace

void add_comb(CLI::App& parent, tool::Command& command) {
  CLI::App* app = parent.add_subcommand(
      "comb", "Exchange a mesh's ghosts with 26 neighbours, by MPI and streams");
  auto options = std::make_shared<Options>();
  describe(*app, *options);
  tool::add_run_options(*app, command);
  app->callback([options, &command] {
    settle(*options);
    command.run = [options](const tool::Session& session) { return run_comb(*options, session); };
  });
}

}  // namespace penstock::comb
