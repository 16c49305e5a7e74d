// SPDX-License-Identifier: Apache-2.0
#include "bench_table.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

namespace penstock::bench {
namespace {

nlohmann::ordered_json to_json(const tool::Summary& summary) {
  return {{"median", summary.median}, {"low", summary.low}, {"high", summary.high}};
}

void print_line(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

}  // namespace

Table::Table(std::string benchmark, std::string unit, std::string what, const Options& options,
             const tool::Session& session)
    : benchmark_(std::move(benchmark)),
      unit_(std::move(unit)),
      what_(std::move(what)),
      options_(options),
      session_(session) {}

void Table::print_header(const std::string& transport, const std::vector<std::string>& baselines) {
  transport_ = transport;
  if (!session_.is_root() || options_.as_json) return;
  fmt::print("# Penstock {}: {} over {}, {} rank{}, {} sends, {} memory, {}, {}{}\n", benchmark_,
             what_, transport_, session_.size(), session_.size() == 1 ? "" : "s",
             name_of(options_.mode), name_of(options_.memory), session_.mpi_name(),
             tool::thread_level_name(session_.thread_level()),
             options_.check ? ", every byte checked (times include that)" : "");
  fmt::print(
      "# medians and quartiles of {} interleaved rounds; ratio is Penstock / MPI: {} 1 is faster\n",
      options_.rounds, is_time() ? "below" : "above");
  if (!baselines.empty())
    fmt::print("# behind each baseline: its spread, and the ratio Penstock / baseline\n");
  fmt::print("{:>9} {:>13} {:>19} {:>15} {:>19} {:>7}", "# bytes", "MPI " + unit_, "spread",
             "Penstock " + unit_, "spread", "ratio");
  for (const std::string& name : baselines)
    fmt::print(" {:>21} {:>19} {:>7}", name, "spread", "ratio");
  fmt::print("\n");
  std::fflush(stdout);
}

std::string Table::row_of(const Measurement& measurement) const {
  const std::vector<Figure>& figures = measurement.figures;
  const tool::Summary ours = figures[0].summary();
  const tool::Summary mpi = figures[1].summary();
  std::string line = fmt::format("{:>9} {:>13.2f} {:>19} {:>15.2f} {:>19} {:>7.2f}",
                                 measurement.bytes, mpi.median, tool::spread_text(mpi), ours.median,
                                 tool::spread_text(ours), ours.median / mpi.median);
  for (std::size_t i = 2; i < figures.size(); ++i) {
    const tool::Summary one = figures[i].summary();
    line += fmt::format(" {:>21.2f} {:>19} {:>7.2f}", one.median, tool::spread_text(one),
                        ours.median / one.median);
  }
  if (measurement.caller_ns)
    line += fmt::format("   a message costs the caller {:.1f} ns ({})",
                        measurement.caller_ns->median, tool::spread_text(*measurement.caller_ns));
  return line;
}

void Table::print(Measurement measurement) const {
  if (!session_.is_root()) return;
  measurement.benchmark = benchmark_;
  measurement.unit = unit_;
  measurement.more_is_better = !is_time();
  measurement.transport = transport_;
  print_line(options_.as_json ? json_line(measurement, options_, session_) : row_of(measurement));
}

void Table::print_cost(const std::string& name, const std::string& unit, const tool::Summary& cost,
                       const tool::Summary* mpi) const {
  if (!session_.is_root()) return;
  if (!options_.as_json) {
    print_line(fmt::format(
        "{:<58} {:>9.2f} {} ({}){}", name, cost.median, unit, tool::spread_text(cost),
        mpi != nullptr ? fmt::format(", MPI {:.2f} ({})", mpi->median, tool::spread_text(*mpi))
                       : ""));
    return;
  }
  nlohmann::ordered_json line{
      {"benchmark", "cost"}, {"name", name}, {"unit", unit}, {"penstock", to_json(cost)}};
  if (mpi != nullptr) line["mpi"] = to_json(*mpi);
  line["library"] = session_.mpi_name();
  print_line(line.dump());
}

}  // namespace penstock::bench
