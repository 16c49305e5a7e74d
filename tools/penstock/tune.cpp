// SPDX-License-Identifier: Apache-2.0
// penstock tune: measures which algorithm of a collective is the fastest here, and writes that down
// for PENSTOCK_TUNE.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "collective_algorithms.hpp"
#include "penstock/subcommands.hpp"
#include "penstock/tuning_file.hpp"
#include "round_options.hpp"
#include "support/agreement.hpp"
#include "support/progress.hpp"
#include "support/statistics.hpp"

namespace penstock::tool {
namespace {

using bench::Comparer;
using bench::Comparison;
using bench::Figure;

struct TuneOptions {
  bench::Options bench;  // of each collective in turn
  std::vector<std::string> collectives;
  std::string output = "penstock_tune.json";
};

std::vector<std::string> all_collectives() {
  std::vector<std::string> names;
  for (const bench::Benchmark& each : bench::benchmarks)
    if (bench::is_collective(each.kind)) names.push_back(each.command);
  return names;
}

bench::Kind kind_of(const std::string& collective) {
  for (const bench::Benchmark& each : bench::benchmarks)
    if (collective == each.command) return each.kind;
  throw std::logic_error(collective + " is no collective");
}

// A barrier has no bytes, and a sum has a whole number of doubles.
std::vector<std::size_t> sizes_for(bench::Kind kind, std::vector<std::size_t> sizes) {
  if (kind == bench::Kind::barrier) return {0};
  if (bench::is_reduction(kind))
    std::erase_if(sizes, [](std::size_t size) { return size % sizeof(double) != 0; });
  return sizes;
}

template <class Value>
void keep_each_once(std::vector<Value>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

void settle(TuneOptions& options, const Command& command) {
  options.bench.transport = command.transport;
  if (options.bench.graph && !options.bench.on_cuda())
    throw CLI::ValidationError("--graph", "is for --device cuda");
  keep_each_once(options.collectives);
  keep_each_once(options.bench.sizes);
  for (const std::string& collective : options.collectives)
    if (sizes_for(kind_of(collective), options.bench.sizes).empty())
      throw CLI::ValidationError("--sizes", "has none for " + collective +
                                                ": those of sums are multiples of " +
                                                std::to_string(sizeof(double)));
}

void require_free_choice() {
  const char* const forced = std::getenv("PENSTOCK_COLL");
  if (forced != nullptr && *forced != 0)
    throw UserError("PENSTOCK_COLL forces algorithms, so that others cannot be measured: unset it");
}

class TuneRun {
 public:
  TuneRun(const TuneOptions& options, const Session& session)
      : options_(options), session_(session), nodes_(look_at_nodes()) {}

  void run() {
    together([&] {
      require_free_choice();
      if (session_.is_root()) require_writable(options_.output);
    });
    print_header();
    for (const std::string& collective : options_.collectives) measure(kind_of(collective));
    together([&] {
      if (session_.is_root())
        write_tuning(options_.output, comparisons_, options_.bench, session_, nodes_);
    });
    if (session_.is_root())
      fmt::print("# PENSTOCK_TUNE={} gives each collective its fastest\n", options_.output);
  }

 private:
  void measure(bench::Kind kind) {
    bench::Options options = options_.bench;
    options.kind = kind;
    options.algorithms = bench::variants_of(kind, session_.size(), nodes_.ranks_a_node);
    Comparer comparer(options, session_);
    const auto first = static_cast<std::ptrdiff_t>(comparisons_.size());
    compare_sizes(comparer, kind);
    std::for_each(comparisons_.begin() + first, comparisons_.end(),
                  [&](const Comparison& each) { print(each); });
    if (session_.is_root())
      for (const auto& [algorithm, why_not] : comparer.refused())
        fmt::print(stderr, "no rows, or not all, of {}: {}\n", algorithm, why_not);
    bench::warn_of_run_delay(comparer.measured(), session_);
  }

  void compare_sizes(Comparer& comparer, bench::Kind kind) {
    const std::vector<std::size_t> sizes = sizes_for(kind, options_.bench.sizes);
    Progress progress(session_.is_root(), static_cast<int>(sizes.size()));
    for (const std::size_t bytes : sizes) {
      comparisons_.push_back(comparer.compare(bytes));
      progress.advance(bench::about(kind).command);
    }
  }

  void print_header() const {
    if (!session_.is_root()) return;
    fmt::print(
        "# Algorithms of Penstock's collectives on {} streams, ranks: {}, nodes: {}, {}, {}\n"
        "# medians and quartiles of {} interleaved rounds, in us; results are verified before; * "
        "is the fastest\n{:<16} {:>10} {:>26} {:>12} {:>22}\n",
        options_.bench.on_cuda() ? "CUDA" : "host", session_.size(), nodes_.count,
        session_.mpi_name(), thread_level_name(session_.thread_level()), options_.bench.rounds,
        "# collective", "bytes", "algorithm", "median", "spread");
  }

  void print(const Comparison& comparison) const {
    if (!session_.is_root()) return;
    const Figure& fastest = comparison.fastest();
    for (const Figure& each : comparison.figures) {
      const Summary us = each.summary();
      fmt::print("{:<16} {:>10} {:>26} {:>12.2f} {:>22}{}\n", bench::about(comparison.kind).command,
                 comparison.bytes, each.side, us.median, spread_text(us),
                 &each == &fastest ? " *" : "");
    }
    std::fflush(stdout);
  }

  const TuneOptions& options_;
  const Session& session_;
  const Nodes nodes_;
  std::vector<Comparison> comparisons_;
};

void add_tune_options(CLI::App& app, TuneOptions& options) {
  app.add_option("--collectives", options.collectives, "These, with commas (default: all)")
      ->delimiter(',')
      ->check(CLI::IsMember(all_collectives()));
  app.add_option("--sizes", options.bench.sizes,
                 "Bytes, with commas, as in penstock bench; an algorithm is taken up to the size "
                 "at which it was the fastest")
      ->delimiter(',')
      ->check(bench::size_of_message())
      ->capture_default_str();
  bench::add_round_options(app, options.bench);
  app.add_option("--output", options.output, "File to write, in place of what is there")
      ->type_name("FILE")
      ->capture_default_str();
}

}  // namespace

void add_tune(CLI::App& parent, Command& command) {
  CLI::App* const app =
      parent.add_subcommand("tune", "Measure what is the fastest here, for PENSTOCK_TUNE");
  app->require_subcommand(1);
  CLI::App* const collectives = app->add_subcommand(
      "collectives", "Each algorithm of each collective that serves these ranks");
  const auto options = std::make_shared<TuneOptions>();
  options->collectives = all_collectives();
  options->bench.sizes = {8, 64, 512, 4096, 32768, 262144};
  add_tune_options(*collectives, *options);
  add_run_options(*collectives, command);
  collectives->callback([options, &command] {
    settle(*options, command);
    // The library has an error in the log of each rank for each algorithm that does not serve.
    setenv("PENSTOCK_LOG", "off", 0);
    command.run = [options](const Session& session) {
      TuneRun(*options, session).run();
      return 0;
    };
  });
}

}  // namespace penstock::tool
