// SPDX-License-Identifier: Apache-2.0
// penstock faces: the exchange of a spectral element code, in which neighbours add up what they
// share.
#include "faces/faces.hpp"

#include <fmt/core.h>
#include <mpi.h>

#include <memory>
#include <string>
#include <vector>

#include "common/table.hpp"
#include "faces/datatypes.hpp"
#include "faces/share.hpp"
#include "faces/verification.hpp"
#include "support/agreement.hpp"
#include "support/clock.hpp"
#include "support/progress.hpp"

namespace penstock::faces {
namespace {

struct Options : apps::Options {
  Problem problem;
  std::vector<int> ranks;
  std::vector<int> elements;
  int outer = 1;
  int middle = 9;
  int inner = 20;
  bool communication_only = false;
  bool small = false;
  bool large = false;
  std::vector<apps::Comm> chosen;
};

class Program {
 public:
  Program(const Options& options, const tool::Session& session)
      : options_(options),
        session_(session),
        problem_(settled(options.problem, session.size())),
        grid_(problem_, session.rank()),
        samples_(options.chosen.size()),
        transports_(options.chosen.size()) {
    apps::choose_device(options.device);
    tool::together([this] { kernels_ = make_kernels(options_.device, grid_.block()); });
  }

  // False where a result was wrong.
  bool run() {
    bool right = true;
    tool::Progress progress(session_.is_root(), options_.outer * (options_.middle + 1));
    for (int outer = 0; outer < options_.outer; ++outer)
      right = run_once(outer + 1 == options_.outer, progress) && right;
    return right;
  }

  void print() const {
    std::vector<apps::Row> rows;
    for (std::size_t i = 0; i < samples_.size(); ++i)
      rows.push_back({apps::name_of(options_.chosen[i]), transports_[i],
                      apps::is_host_driven(options_.chosen[i]), samples_[i]});
    apps::print_rows(setup(), rows, options_, session_);
  }

  std::string summary() const {
    return fmt::format(
        "verified: {} variant{} equal{} the reference at every point after {} shares\n",
        samples_.size(), samples_.size() == 1 ? "" : "s", samples_.size() == 1 ? "s" : "",
        options_.inner);
  }

 private:
  // The outer loop: buffers and requests are made, used and freed. The variants take turns in the
  // middle loop, so that a slow moment of the machine hits them alike.
  bool run_once(bool is_last, tool::Progress& progress) {
    Share share(grid_, *kernels_, !options_.communication_only);
    std::vector<std::unique_ptr<apps::Exchange>> variants;
    for (const apps::Comm comm : options_.chosen) variants.push_back(make_variant(comm, share));
    bool right = true;
    for (int middle = 0; middle <= options_.middle; ++middle) {
      for (std::size_t i = 0; i < variants.size(); ++i) {
        const apps::OverRanks us = time(*variants[i]);
        if (middle > 0) samples_[i].add(us);
        if (is_last && middle == options_.middle && options_.verify)
          right =
              verify(*kernels_, problem_, grid_.block(), options_.inner,
                     !options_.communication_only, apps::name_of(options_.chosen[i]), session_) &&
              right;
      }
      progress.advance("shares");
    }
    for (std::size_t i = 0; i < variants.size(); ++i) transports_[i] = variants[i]->transport();
    return right;
  }

  std::unique_ptr<apps::Exchange> make_variant(apps::Comm comm, Share& share) {
    if (!apps::uses_datatypes(comm))
      return apps::make_exchange(comm, options_, share, options_.inner);
    return apps::make_datatype_exchange(
        comm, options_, share,
        messages_in_place(grid_.block(), kernels_->values(), share.neighbours()));
  }

  // The inner loop: us a share.
  apps::OverRanks time(apps::Exchange& variant) {
    apps::Lane& lane = variant.lane();
    const apps::Lane::Kernel initialise = [&] { kernels_->initialise(lane); };
    lane.launch(initialise);
    lane.settle();
    variant.prepare(options_.inner);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = tool::now_us();
    variant.run(options_.inner);
    return apps::over_ranks((tool::now_us() - begin) / options_.inner);
  }

  apps::Setup setup() const {
    const auto& [lx, ly, lz] = problem_.ranks;
    const auto& [mx, my, mz] = problem_.elements;
    const std::string ranks = fmt::format("[{},{},{}]", lx, ly, lz);
    const std::string elements = fmt::format("[{},{},{}]", mx, my, mz);
    const std::string loops =
        fmt::format("[{},{},{}]", options_.outer, options_.middle, options_.inner);
    return {
        "faces",
        "share",
        fmt::format("ranks {} x {} x {}, elements {} x {} x {} a rank of {}^3 points, loops {} x "
                    "{} x {}, {}",
                    lx, ly, lz, mx, my, mz, problem_.points, options_.outer, options_.middle,
                    options_.inner,
                    options_.communication_only ? "communication only" : "with the sums inside"),
        {{"grid", ranks},
         {"elements", elements},
         {"points", std::to_string(problem_.points)},
         {"loops", loops},
         {"communication_only", options_.communication_only ? "true" : "false"},
         {"verified", options_.verify ? "true" : "false"}}};
  }

  const Options& options_;
  const tool::Session& session_;
  Problem problem_;
  RankGrid grid_;
  std::unique_ptr<Kernels> kernels_;
  std::vector<apps::Samples> samples_;
  std::vector<std::string> transports_;
};

int run_faces(const Options& options, const tool::Session& session) {
  Program program(options, session);
  const bool right = program.run();
  if (!right) return 1;
  program.print();
  if (session.is_root() && options.verify && !options.as_json) fmt::print("{}", program.summary());
  return 0;
}

void describe(CLI::App& app, Options& options) {
  app.add_option("--grid", options.ranks,
                 "Ranks in x, y and z, with commas (default: MPI_Dims_create)")
      ->delimiter(',')
      ->expected(3)
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--elements", options.elements,
                 "Elements of a rank in x, y and z, with commas (default: 15,14,13)")
      ->delimiter(',')
      ->expected(3)
      ->check(CLI::Range(1, 10000));
  app.add_option("--points", options.problem.points, "Points along an edge of an element")
      ->check(CLI::Range(3, 64))
      ->capture_default_str();
  app.add_flag("--small", options.small, "Elements 15,14,13 of 12 points (the default)");
  app.add_flag("--large", options.large, "Elements 95,94,93 of 12 points: 11.5 GB a rank")
      ->excludes("--small");
  app.add_option("--outer", options.outer, "Outer loop: buffers and requests are made anew")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--middle", options.middle,
                 "Middle loop: values are set anew; one more round goes untimed before")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  app.add_option("--inner", options.inner,
                 "Inner loop: shares between two synchronisations; values grow by 8 at each")
      ->check(CLI::Range(1, 330))
      ->capture_default_str();
  app.add_flag("--communication-only", options.communication_only,
               "Leave out the sums inside a rank's block");
  options.offered = {
      apps::Comm::mpi,          apps::Comm::mpi_waitany,     apps::Comm::stream,
      apps::Comm::stream_ready, apps::Comm::stream_datatype, apps::Comm::graph,
      apps::Comm::mpi_rma,      apps::Comm::stream_rma,      apps::Comm::stream_rma_batch,
      apps::Comm::graph_rma,    apps::Comm::zero_copy,       apps::Comm::hpe_send,
      apps::Comm::hpe,          apps::Comm::hpe_promised};
  apps::add_options(app, options);
}

void settle(Options& options) {
  options.chosen = apps::chosen_comms(options);
  if (!options.ranks.empty()) std::copy_n(options.ranks.begin(), 3, options.problem.ranks.begin());
  if ((options.small || options.large) && !options.elements.empty())
    throw CLI::ValidationError("--elements", "is what --small and --large choose");
  if (!options.elements.empty())
    std::copy_n(options.elements.begin(), 3, options.problem.elements.begin());
  if (options.large) options.problem.elements = {95, 94, 93};
  if (options.small || options.large) options.problem.points = 12;
}

}  // namespace

void add_faces(CLI::App& parent, tool::Command& command) {
  CLI::App* app = parent.add_subcommand(
      "faces", "Add up what spectral elements share, by MPI, streams, graphs");
  auto options = std::make_shared<Options>();
  describe(*app, *options);
  tool::add_run_options(*app, command);
  app->callback([options, &command] {
    settle(*options);
    const auto& chosen = options->chosen;
    if (std::any_of(chosen.begin(), chosen.end(), apps::needs_all_threads)) {
      if (!command.thread.empty() && command.thread != "multiple")
        throw CLI::ValidationError("--thread", "hpe-send, hpe and hpe-promised need multiple");
      command.thread = "multiple";
    }
    command.run = [options](const tool::Session& session) { return run_faces(*options, session); };
  });
}

}  // namespace penstock::faces
