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

Table::Table(std::string benchmark, std::string unit, const Options& options, const tool::Session& session)
    : benchmark_(std::move(benchmark)), unit_(std::move(unit)), options_(options), session_(session) {}

void Table::print_header(const std::string& transport, const std::vector<std::string>& baselines) {
  transport_ = transport;
  baselines_ = baselines;
  if (!session_.is_root() || options_.as_json) return;
  const bool is_time = unit_ == "us";
  fmt::print("# Penstock {}: {} over {}, {} sends, {} memory, {}, {}{}\n", benchmark_,
             is_time ? "half round trip" : "one way, windowed", transport_, name_of(options_.mode),
             name_of(options_.memory), session_.mpi_name(), tool::thread_level_name(session_.thread_level()),
             options_.check ? ", every byte checked (times include that)" : "");
  fmt::print("# medians and quartiles of {} interleaved rounds; ratio is Penstock / MPI: {} 1 is faster\n",
             options_.rounds, is_time ? "below" : "above");
  if (!baselines_.empty()) fmt::print("# behind each baseline: its spread, and the ratio Penstock / baseline\n");
  fmt::print("{:>9} {:>13} {:>19} {:>15} {:>19} {:>7}", "# bytes", "MPI " + unit_, "spread", "Penstock " + unit_,
             "spread", "ratio");
  for (const std::string& name : baselines_) fmt::print(" {:>21} {:>19} {:>7}", name, "spread", "ratio");
  fmt::print("\n");
  std::fflush(stdout);
}

void Table::print(const Row& row) const {
  if (!session_.is_root()) return;
  const double ratio = row.stream.median / row.mpi.median;
  if (!options_.as_json) {
    std::string line = fmt::format("{:>9} {:>13.2f} {:>19} {:>15.2f} {:>19} {:>7.2f}", row.bytes, row.mpi.median,
                                   tool::spread_text(row.mpi), row.stream.median, tool::spread_text(row.stream), ratio);
    for (const tool::Summary& one : row.baselines)
      line +=
          fmt::format(" {:>21.2f} {:>19} {:>7.2f}", one.median, tool::spread_text(one), row.stream.median / one.median);
    print_line(line);
    return;
  }
  nlohmann::ordered_json baselines = nlohmann::ordered_json::object();
  for (std::size_t i = 0; i < row.baselines.size(); ++i) {
    baselines[baselines_[i]] = to_json(row.baselines[i]);
    baselines[baselines_[i]]["ratio"] = row.stream.median / row.baselines[i].median;
  }
  print_line(nlohmann::ordered_json{{"benchmark", benchmark_},
                                    {"bytes", row.bytes},
                                    {"unit", unit_},
                                    {"mpi", to_json(row.mpi)},
                                    {"penstock", to_json(row.stream)},
                                    {"ratio", ratio},
                                    {"baselines", baselines},
                                    {"transport", transport_},
                                    {"memory", name_of(options_.memory)},
                                    {"send", name_of(options_.mode)},
                                    {"library", session_.mpi_name()},
                                    {"thread_level", tool::thread_level_name(session_.thread_level())},
                                    {"rounds", options_.rounds},
                                    {"iterations", row.iterations},
                                    {"checked", options_.check}}
                 .dump());
}

void Table::print_cost(const std::string& name, const std::string& unit, const tool::Summary& cost,
                       const tool::Summary* mpi) const {
  if (!session_.is_root()) return;
  if (!options_.as_json) {
    print_line(
        fmt::format("{:<58} {:>9.2f} {} ({}){}", name, cost.median, unit, tool::spread_text(cost),
                    mpi != nullptr ? fmt::format(", MPI {:.2f} ({})", mpi->median, tool::spread_text(*mpi)) : ""));
    return;
  }
  nlohmann::ordered_json line{{"benchmark", "cost"}, {"name", name}, {"unit", unit}, {"penstock", to_json(cost)}};
  if (mpi != nullptr) line["mpi"] = to_json(*mpi);
  line["library"] = session_.mpi_name();
  print_line(line.dump());
}

}  // namespace penstock::bench
