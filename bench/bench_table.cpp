// SPDX-License-Identifier: Apache-2.0
#include "bench_table.hpp"

#include <fmt/core.h>

#include <cstdio>

namespace penstock::bench {
namespace {

void print_line(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

// Collectives are not made of sends and receives for who measures them.
std::string words_of_messages(const Options& options) {
  if (is_collective(options.kind)) return "";
  return fmt::format(", {} sends, {} receives", name_of(options.mode), name_of(options.order));
}

// With the width that was asked for, which the library leaves out of the name.
std::string algorithm_of(const Measurement& measurement) {
  const std::string& wish = measurement.row.traffic.algorithm;
  return wish.starts_with(measurement.algorithm + ":") ? wish : measurement.algorithm;
}

}  // namespace

void Table::print_header(const std::string& device, const Measurement& first) const {
  if (!session_.is_root() || options_.as_json) return;
  const Benchmark& benchmark = about(options_.kind);
  const bool less_is_better = std::string(benchmark.unit) == "us";
  fmt::print("# Penstock {} ({}){}, {}, {} rank{}{}, {}, {}{}{}{}\n", benchmark.name,
             benchmark.meaning, first.transport.empty() ? "" : " over " + first.transport, device,
             session_.size(), session_.size() == 1 ? "" : "s", words_of_messages(options_),
             session_.mpi_name(), tool::thread_level_name(session_.thread_level()),
             options_.on_cuda() ? "" : fmt::format(", {} memory", name_of(options_.memory)),
             options_.pack ? ", pack and unpack kernels" : "",
             options_.check ? ", every byte checked (times include that)" : "");
  for (const std::string& note : notes_of(options_, session_)) fmt::print("# {}\n", note);
  fmt::print(
      "# medians and quartiles of {} interleaved rounds; ratio is Penstock / the other: {} "
      "1 is faster\n",
      options_.rounds, less_is_better ? "below" : "above");
  std::string line = fmt::format("{:>10}", "# bytes");
  if (is_collective(options_.kind)) line += fmt::format(" {:>20}", "algorithm");
  for (const Figure& figure : first.figures) {
    line +=
        fmt::format(" {:>21} {:>19}", fmt::format("{} {}", figure.side, benchmark.unit), "spread");
    if (is_exchange(options_.kind)) line += fmt::format(" {:>11}", "MB/s");
    if (figure.blocks) line += fmt::format(" {:>6}", "blocks");
    if (&figure != &first.figures.front()) line += fmt::format(" {:>7}", "ratio");
  }
  print_line(line);
}

std::string Table::row_of(const Measurement& measurement) const {
  const double ours = measurement.figures.front().summary().median;
  std::string line = fmt::format("{:>10}", measurement.row.bytes);
  if (is_collective(options_.kind)) line += fmt::format(" {:>20}", algorithm_of(measurement));
  for (const Figure& figure : measurement.figures) {
    const tool::Summary one = figure.summary();
    line += fmt::format(" {:>21.2f} {:>19}", one.median, tool::spread_text(one));
    if (is_exchange(options_.kind))
      line += fmt::format(" {:>11.1f}", static_cast<double>(measurement.row.moved) / one.median);
    if (figure.blocks) line += fmt::format(" {:>6}", *figure.blocks);
    if (&figure != &measurement.figures.front())
      line += fmt::format(" {:>7.2f}", ours / one.median);
  }
  const char* prefix = "   a message costs the caller ";
  for (const Figure& figure : measurement.figures) {
    if (!figure.caller_ns) continue;
    const bool first = &figure == &measurement.figures.front();
    line += fmt::format("{}{}{:.1f} ns ({})", prefix, first ? "" : figure.side + " ",
                        figure.caller_ns->median, tool::spread_text(*figure.caller_ns));
    prefix = ", ";
  }
  return line;
}

void Table::print(const Measurement& measurement) const {
  if (!session_.is_root()) return;
  print_line(options_.as_json ? json_line(measurement, options_, session_) : row_of(measurement));
}

void Table::print_cost(const std::string& name, const std::string& unit, const tool::Summary& cost,
                       const tool::Summary* mpi) const {
  if (!session_.is_root()) return;
  if (options_.as_json) return print_line(json_line(name, unit, cost, mpi, session_));
  print_line(fmt::format(
      "{:<58} {:>9.2f} {} ({}){}", name, cost.median, unit, tool::spread_text(cost),
      mpi != nullptr ? fmt::format(", MPI {:.2f} ({})", mpi->median, tool::spread_text(*mpi))
                     : ""));
}

void Table::print_call_costs(std::size_t bytes, const std::string& side,
                             const CallCosts& costs) const {
  if (!session_.is_root()) return;
  if (options_.as_json) return print_line(json_line(bytes, side, costs, options_));
  std::string calls;
  for (const CallCost& each : costs.calls)
    calls += fmt::format("{}{} {:.2f}", calls.empty() ? "" : ", ", each.call, each.us / each.calls);
  print_line(
      fmt::format("# {}: the calls of a trip of {} bytes cost the caller {:.2f} us; timed "
                  "one by one: {}",
                  side, bytes, costs.together, calls));
}

}  // namespace penstock::bench
