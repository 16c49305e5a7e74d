// SPDX-License-Identifier: Apache-2.0
// How matching grows with the ranks of a job: a table, or JSON, of what it costs a rank.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "scale/simulation.hpp"
#include "scale/tables.hpp"
#include "scale/unmatched.hpp"
#include "support/progress.hpp"

namespace penstock::scale {
namespace {

constexpr double mebibyte = 1024.0 * 1024;

struct ProgramOptions {
  Options simulation;
  std::string graph = "neighbours";
  std::vector<int> ranks{1, 8, 64, 512, 4096, 8192};
  std::vector<int> unmatched;  // instead
  bool one_tag = false;
  bool tables = false;  // instead
  bool as_json = false;
};

double per_rank(std::uint64_t count, const Report& report) {
  return static_cast<double>(count) / report.ranks;
}

void print_head() {
  fmt::print(
      "# of a rank: ms in matcher and mailbox, ms of the slowest, letters, bundles and bytes of "
      "them,\n"
      "# bytes of memory before it has requests, with them, at most meanwhile, matched, freed\n"
      "# all: s of the simulation, MiB that the process had at most\n"
      "# {:>6} {:>6} {:>8} {:>9} {:>7} {:>7} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>7} {:>7}\n",
      "ranks", "peers", "ms", "slowest", "letters", "bundles", "bytes", "made", "recorded", "most",
      "matched", "freed", "s", "MiB");
}

void print_row(const Report& report, double seconds) {
  fmt::print(
      "{:8} {:6.0f} {:8.3f} {:9.3f} {:7.1f} {:7.1f} {:8.0f} {:8.0f} {:8.0f} {:8.0f} {:8.0f} "
      "{:8.0f} "
      "{:7.2f} {:7.0f}\n",
      report.ranks, report.most_neighbours, report.seconds_a_rank() * 1e3,
      report.slowest_seconds * 1e3, per_rank(report.all_letters(), report),
      per_rank(report.bundles, report), per_rank(report.bundle_bytes, report), report.made,
      report.recorded, report.most, report.after, report.freed, seconds,
      static_cast<double>(report.most_resident) / mebibyte);
  std::fflush(stdout);
}

void print_line(const Report& report, double seconds) {
  fmt::print("{}\n", nlohmann::ordered_json{{"benchmark", "scale"},
                                            {"ranks", report.ranks},
                                            {"neighbours", report.most_neighbours},
                                            {"requests", report.requests},
                                            {"matched", report.matched},
                                            {"failed", report.failed},
                                            {"letters", report.all_letters()},
                                            {"letter_bytes", report.all_letter_bytes()},
                                            {"bundles", report.bundles},
                                            {"bundle_bytes", report.bundle_bytes},
                                            {"seconds_in_matching", report.seconds},
                                            {"slowest_seconds", report.slowest_seconds},
                                            {"simulated_us", report.simulated_us},
                                            {"bytes_made", report.made},
                                            {"bytes_recorded", report.recorded},
                                            {"bytes_most", report.most},
                                            {"bytes_matched", report.after},
                                            {"bytes_freed", report.freed},
                                            {"resident_bytes", report.most_resident},
                                            {"seconds", seconds}}
                         .dump());
  std::fflush(stdout);
}

void run_one(const ProgramOptions& options, int ranks) {
  Options one = options.simulation;
  one.ranks = ranks;
  constexpr int steps = 100;
  tool::Progress progress(true, steps);
  int shown = 0;
  one.on_progress = [&](int ended) {
    for (; shown < steps * ended / ranks; ++shown)
      progress.advance(fmt::format("{} of {} ranks", ended, ranks));
  };
  const auto begin = std::chrono::steady_clock::now();
  const Report report = Simulation(one).run();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (options.as_json)
    print_line(report, seconds);
  else
    print_row(report, seconds);
}

void run_unmatched(const ProgramOptions& options, int requests) {
  const UnmatchedTimes times =
      end_unmatched({requests, options.one_tag, options.simulation.leaves});
  if (!options.as_json)
    return fmt::print("{:9} {:9.1f} {:9.1f} {:9.1f} {:9.1f} {:9.1f}\n", requests, times.begin_ms,
                      times.sends_ms, times.withdrawn_ms, times.receives_ms, times.rest_ms);
  fmt::print("{}\n", nlohmann::ordered_json{{"benchmark", "unmatched"},
                                            {"requests", requests},
                                            {"begin_ms", times.begin_ms},
                                            {"sends_ms", times.sends_ms},
                                            {"withdrawn_ms", times.withdrawn_ms},
                                            {"receives_ms", times.receives_ms},
                                            {"rest_ms", times.rest_ms}}
                         .dump());
}

// The log would have a line for each request.
int run_all_unmatched(const ProgramOptions& options) {
  base::log::configure(base::LogLevel::off, "");
  if (!options.as_json)
    fmt::print(
        "# ms until so many sends and receives that nobody takes are under way; given up by "
        "the sender;\n# read by the receiver; given up by the receiver; all letters read\n"
        "# {:>7} {:>9} {:>9} {:>9} {:>9} {:>9}\n",
        "requests", "begin", "sends", "read", "receives", "rest");
  for (const int requests : options.unmatched) run_unmatched(options, requests);
  return 0;
}

int print_tables() {
  double sum = 0;
  fmt::print("# bytes that a process keeps of each rank of its job\n");
  for (const Table& table : tables()) {
    fmt::print("{:8.1f}  {} ({})\n", table.bytes, table.what, table.where);
    sum += table.bytes;
  }
  fmt::print("{:8.1f}  together; with 8192 ranks {:.1f} MiB\n", sum, sum * 8192 / mebibyte);
  return 0;
}

int run(int argc, char** argv) {
  ProgramOptions options;
  Options& simulation = options.simulation;
  CLI::App app(
      "What the match of a job costs a rank, by their number: all ranks are in this process");
  const std::map<std::string, Graph> graphs{
      {"neighbours", Graph::neighbours}, {"random", Graph::random}, {"star", Graph::star}};
  app.add_option("--ranks", options.ranks, "Numbers of ranks, with commas")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option(
         "--graph", options.graph,
         "Who sends to whom: the 26 neighbours of a cell, as many at random, all and rank 0")
      ->check(CLI::IsMember(graphs))
      ->capture_default_str();
  app.add_flag("--wildcards", simulation.wildcards, "Some receives name no source, or no tag");
  app.add_flag("--leave", simulation.leaves, "Receives invite their senders, as PST_Imatch does");
  app.add_flag("--collective", simulation.collective, "Besides, one collective of all ranks");
  app.add_option("--dead", simulation.dead, "Ranks that end in the middle of it")
      ->check(CLI::Range(0, 1000));
  app.add_option("--record", simulation.record_bytes,
                 "Bytes that each end of a pair tells the other for its transport")
      ->capture_default_str();
  app.add_option("--delay", simulation.post.most_delay, "Most us that letters are on their way")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--seed", simulation.seed, "Of delays, and of random graphs")
      ->capture_default_str();
  app.add_option("--unmatched", options.unmatched,
                 "Instead: numbers of requests of two ranks that nobody matches, with commas")
      ->delimiter(',')
      ->check(CLI::Range(1, 1'000'000));
  app.add_flag("--tables", options.tables, "Instead: what a process keeps of each rank of its job");
  app.add_flag("--one-tag", options.one_tag, "All of those have one tag");
  app.add_flag("--json", options.as_json, "Print JSON, a line for each number of ranks");
  CLI11_PARSE(app, argc, argv);
  simulation.graph = graphs.at(options.graph);
  if (options.tables) return print_tables();
  if (!options.unmatched.empty()) return run_all_unmatched(options);
  if (!options.as_json) print_head();
  for (const int ranks : options.ranks) run_one(options, ranks);
  return 0;
}

}  // namespace
}  // namespace penstock::scale

int main(int argc, char** argv) {
  try {
    return penstock::scale::run(argc, argv);
  } catch (const std::exception& failure) {
    fmt::print(stderr, "scale_program: {}\n", failure.what());
    return 1;
  }
}
