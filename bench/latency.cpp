// SPDX-License-Identifier: Apache-2.0
// penstock bench latency: ping-pong.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "caller_cost.hpp"
#include "measurement.hpp"
#include "ping_pong.hpp"
#if PENSTOCK_OFI
#include "ofi/chain.hpp"
#endif

namespace penstock::bench {
namespace {

constexpr int mpi_tag = 1;
constexpr int stream_tag = 2;

// At least 1000 are enqueued ahead; small messages need more for a time that can be measured.
Iterations iterations_for(const Options& options, std::size_t bytes) {
  const int timed = options.iterations > 0 ? options.iterations : bytes <= 8192 ? 10000 : 1000;
  return {std::max(1, timed / 10), timed};
}

// A baseline, and how it makes a round of messages of some size.
struct Baseline {
  std::string name;
  std::function<double(std::size_t, Iterations, int, CheckResult*)> round;
};

#if PENSTOCK_OFI
std::string make_baseline(const std::string& name, Baseline& baseline) {
  const ChainForm* const form = find_chain(name);
  baseline = {name, [form](std::size_t bytes, Iterations iterations, int rank, CheckResult* check) {
                return time_chain_round(*form, bytes, iterations, rank, check);
              }};
  return chain_refusal(*form);
}
#else
std::string make_baseline(const std::string&, Baseline&) {
  return "this command is built without libfabric";
}
#endif

// One that cannot be had is named with the reason, and its column left out.
std::vector<Baseline> make_baselines(const Options& options, const tool::Session& session) {
  std::vector<Baseline> baselines;
  for (const std::string& name : options.baselines) {
    Baseline baseline;
    const std::string refusal = make_baseline(name, baseline);
    if (refusal.empty())
      baselines.push_back(std::move(baseline));
    else if (session.is_root())
      fmt::print(stderr, "no baseline {}: {}\n", name, refusal);
  }
  return baselines;
}

std::vector<std::string> names_of(const std::vector<Baseline>& baselines) {
  std::vector<std::string> names;
  for (const Baseline& baseline : baselines) names.push_back(baseline.name);
  return names;
}

void measure_size(const Options& options, int rank, std::size_t bytes, const std::vector<Baseline>& baselines,
                  StreamEngine& stream_engine, Table& table, bool first) {
  PingPong mpi_side(bytes, MemoryKind::malloc, options.mode, rank, mpi_tag);
  PingPong stream_side(bytes, options.memory, options.mode, rank, stream_tag);
  match(stream_side.requests);
  const std::string transport = stream_side.requests[0].transport();
  require_transport(options, transport);
  if (first) table.print_header(transport, names_of(baselines));

  MpiEngine mpi_engine;
  const Iterations iterations = iterations_for(options, bytes);
  std::vector<CheckResult> baseline_checks(baselines.size());
  std::vector<BaselineRound> rounds;
  for (std::size_t i = 0; i < baselines.size(); ++i)
    rounds.push_back(
        [&, i] { return baselines[i].round(bytes, iterations, rank, options.check ? &baseline_checks[i] : nullptr); });
  Row row = measure(
      bytes, options.rounds, mpi_engine, mpi_side, stream_engine, stream_side,
      [&](auto& engine, PingPong& side) { return time_round(engine, side, iterations, options.order, options.check); },
      rounds);
  row.iterations = iterations.timed;
  if (options.check) {
    require_right(mpi_side.check_result, "MPI", bytes);
    require_right(stream_side.check_result, "Penstock", bytes);
    for (std::size_t i = 0; i < baselines.size(); ++i)
      require_right(baseline_checks[i], baselines[i].name.c_str(), bytes);
  }
  table.print(row);
}

}  // namespace

int run_latency(const Options& options, const tool::Session& session) {
  require_two_ranks(session);
  const std::vector<Baseline> baselines = make_baselines(options, session);
  StreamEngine stream_engine;
  Table table("latency", "us", options, session);
  bool first = true;
  for (const std::size_t bytes : message_sizes(options)) {
    measure_size(options, session.rank(), bytes, baselines, stream_engine, table, std::exchange(first, false));
  }
  print_caller_costs(options, session, table);
  return 0;
}

}  // namespace penstock::bench
