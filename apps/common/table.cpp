// SPDX-License-Identifier: Apache-2.0
#include "common/table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace penstock::apps {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Row& row) {
  const tool::Summary slowest = row.samples.slowest();
  const OverRanks ranks = row.samples.medians();
  return {{"median", slowest.median},   {"low", slowest.low},        {"high", slowest.high},
          {"average", ranks.average},   {"minimum", ranks.minimum},  {"maximum", ranks.maximum},
          {"transport", row.transport}, {"samples", slowest.samples}};
}

void print_json(const Setup& setup, const std::vector<Row>& rows, const Options& options,
                const tool::Session& session, bool with_gains) {
  Json line{{"benchmark", setup.program},
            {"device", name_of(options.device)},
            {"of", setup.what},
            {"unit", "us"},
            {"ranks", session.size()},
            {"library", session.mpi_name()},
            {"oversubscribed", !with_gains}};
  for (const auto& [name, text] : setup.fields) line[name] = Json::parse(text);
  for (const Row& row : rows) {
    line[row.name] = to_json(row);
    if (row.over_floor) line[row.name]["over_floor"] = *row.over_floor;
    if (const auto gain = gain_of(row, rows); gain && with_gains) line[row.name]["gain"] = *gain;
  }
  fmt::print("{}\n", line.dump());
}

void print_table(const Setup& setup, const std::vector<Row>& rows, const Options& options,
                 const tool::Session& session, bool with_gains) {
  fmt::print("# {} on {}, {} rank{}, {}: {}\n", setup.program, name_of(options.device),
             session.size(), session.size() == 1 ? "" : "s", session.mpi_name(), setup.note);
  fmt::print(
      "# us a {0} on the slowest rank, medians and quartiles of interleaved rounds; gain over the "
      "fastest MPI\n",
      setup.what);
  const bool with_floor = std::any_of(rows.begin(), rows.end(),
                                      [](const Row& row) { return row.over_floor.has_value(); });
  std::size_t width = 14;
  for (const Row& row : rows) width = std::max(width, row.name.size());
  fmt::print("{:<{}} {:<22} {:>11} {:>21} {:>11} {:>11} {:>7}{}\n", "# variant", width, "transport",
             "us/" + setup.what, "spread", "average", "minimum", "gain",
             with_floor ? fmt::format(" {:>11}", "over floor") : "");
  for (const Row& row : rows) {
    const tool::Summary slowest = row.samples.slowest();
    const OverRanks ranks = row.samples.medians();
    const auto gain = gain_of(row, rows);
    fmt::print("{:<{}} {:<22} {:>11.2f} {:>21} {:>11.2f} {:>11.2f} {:>7}{}\n", row.name, width,
               row.transport, slowest.median, tool::spread_text(slowest), ranks.average,
               ranks.minimum, gain && with_gains ? fmt::format("{:.2f}", *gain) : "-",
               row.over_floor ? fmt::format(" {:>11.2f}", *row.over_floor) : "");
  }
  if (!with_gains) fmt::print("more ranks than cores: these times say nothing\n");
}

}  // namespace

void print_rows(const Setup& setup, const std::vector<Row>& rows, const Options& options,
                const tool::Session& session) {
  const bool with_gains = options.device == DeviceKind::gpu || !session.oversubscribed();
  if (!session.is_root()) return;
  (options.as_json ? print_json : print_table)(setup, rows, options, session, with_gains);
  std::fflush(stdout);
}

std::optional<double> gain_of(const Row& row, const std::vector<Row>& rows) {
  std::optional<double> fastest;
  for (const Row& other : rows) {
    if (!other.is_baseline) continue;
    const double median = other.samples.slowest().median;
    fastest = fastest ? std::min(*fastest, median) : median;
  }
  if (!fastest) return std::nullopt;
  return *fastest / row.samples.slowest().median;
}

}  // namespace penstock::apps
