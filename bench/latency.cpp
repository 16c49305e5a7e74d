// SPDX-License-Identifier: Apache-2.0
// penstock bench latency: ping-pong.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "bench_table.hpp"
#include "caller_cost.hpp"
#include "measurement.hpp"
#include "ping_pong.hpp"
#if PENSTOCK_OFI_CHAIN
#include "ofi_chain/chain.hpp"
#endif

namespace penstock::bench {
namespace {

constexpr int mpi_tag = 1;
constexpr int stream_tag = 2;
constexpr int nonblocking_tag = 5;  // caller_cost.cpp has 3 and 4

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

#if PENSTOCK_OFI_CHAIN
std::string make_chain(const std::string& name, Baseline& baseline) {
  const ChainForm* const form = find_chain(name);
  baseline = {name, [form](std::size_t bytes, Iterations iterations, int rank, CheckResult* check) {
                return time_chain_round(*form, bytes, iterations, rank, check);
              }};
  return chain_refusal(*form);
}
#else
std::string make_chain(const std::string&, Baseline&) {
  return "it needs libfabric, and a build with -DPENSTOCK_BUILD_RESEARCH=ON";
}
#endif

Baseline make_nonblocking(const Options& options) {
  return {nonblocking,
          [&options](std::size_t bytes, Iterations iterations, int rank, CheckResult* check) {
            NonblockingEngine engine;
            PingPong side(bytes, MemoryKind::malloc, options.mode, rank, nonblocking_tag,
                          Calls::nonblocking);
            if (check != nullptr) side.check_result = *check;
            const double us = time_round(engine, side, iterations, options.order, check != nullptr);
            if (check != nullptr) *check = side.check_result;
            return us;
          }};
}

// One that cannot be had is named with the reason, and its column left out.
std::vector<Baseline> make_baselines(const Options& options, const tool::Session& session) {
  std::vector<Baseline> baselines;
  for (const std::string& name : options.baselines) {
    Baseline baseline;
    std::string refusal;
    if (name == nonblocking)
      baseline = make_nonblocking(options);
    else
      refusal = make_chain(name, baseline);
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

void measure_size(const Options& options, int rank, std::size_t bytes,
                  const std::vector<Baseline>& baselines, StreamEngine& stream_engine, Table& table,
                  bool first) {
  PingPong mpi_side(bytes, MemoryKind::malloc, options.mode, rank, mpi_tag);
  PingPong stream_side(bytes, options.memory, options.mode, rank, stream_tag);
  stream_side.match();
  const std::string transport = RequestView(stream_side.send.requests()[0]).transport();
  require_transport(options, transport);
  if (first) table.print_header(transport, names_of(baselines));

  MpiEngine mpi_engine;
  const Iterations iterations = iterations_for(options, bytes);
  std::vector<CheckResult> checks(baselines.size());
  std::vector<Contender> contenders{
      {"penstock",
       [&] {
         return time_round(stream_engine, stream_side, iterations, options.order, options.check);
       }},
      {"mpi",
       [&] { return time_round(mpi_engine, mpi_side, iterations, options.order, options.check); }}};
  for (std::size_t i = 0; i < baselines.size(); ++i)
    contenders.push_back({baselines[i].name, [&, i] {
                            return baselines[i].round(bytes, iterations, rank,
                                                      options.check ? &checks[i] : nullptr);
                          }});
  const std::vector<Figure> figures = measure(options.rounds, contenders);
  if (options.check) {
    require_right(mpi_side.check_result, "MPI", bytes);
    require_right(stream_side.check_result, "Penstock", bytes);
    for (std::size_t i = 0; i < baselines.size(); ++i)
      require_right(checks[i], baselines[i].name.c_str(), bytes);
  }
  table.print({.bytes = bytes, .iterations = iterations.timed, .figures = figures});
}

}  // namespace

int run_latency(const Options& options, const tool::Session& session) {
  require_two_ranks(session);
  const std::vector<Baseline> baselines = make_baselines(options, session);
  StreamEngine stream_engine;
  Table table("latency", "us", "half round trip", options, session);
  bool first = true;
  for (const std::size_t bytes : message_sizes(options)) {
    measure_size(options, session.rank(), bytes, baselines, stream_engine, table,
                 std::exchange(first, false));
  }
  print_caller_costs(options, session, table);
  return 0;
}

}  // namespace penstock::bench
