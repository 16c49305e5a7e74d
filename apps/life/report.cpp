// SPDX-License-Identifier: Apache-2.0
#include "report.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

namespace penstock::life {
namespace {

std::optional<double> speed_up(const Setup& setup, const std::vector<Row>& rows, const Row& row) {
  if (setup.oversubscribed) return std::nullopt;
  std::optional<double> fastest;
  for (const Row& other : rows) {
    if (other.is_baseline)
      fastest = std::min(fastest.value_or(other.step_us.median), other.step_us.median);
  }
  if (!fastest) return std::nullopt;
  return *fastest / row.step_us.median;
}

nlohmann::json to_json(const tool::Summary& summary) {
  return {{"median", summary.median},
          {"low", summary.low},
          {"high", summary.high},
          {"samples", summary.samples}};
}

}  // namespace

void print_table(const Setup& setup, const std::vector<Row>& rows) {
  fmt::print(
      "{}: {} x {} cells on {}, {} rank{} ({} x {}), {} generations, "
      "medians and quartiles of {} interleaved rounds, {}\n",
      setup.pattern, setup.width, setup.height, setup.device, setup.ranks,
      setup.ranks == 1 ? "" : "s", setup.columns, setup.rows, setup.generations, setup.rounds,
      setup.mpi);
  fmt::print("{:<24} {:<18} {:>10} {:>18} {:>9} {:>14}\n", "variant", "transport", "us/step",
             "spread", "speed-up", "enqueue us/step");
  for (const Row& row : rows) {
    const auto speed = speed_up(setup, rows, row);
    fmt::print("{:<24} {:<18} {:>10.2f} {:>18} {:>9} {:>14.2f}\n", row.name, row.transport,
               row.step_us.median, tool::spread_text(row.step_us),
               speed ? fmt::format("{:.2f}", *speed) : "-", row.enqueue_us.median);
  }
  if (setup.oversubscribed) fmt::print("more ranks than cores: these times say nothing\n");
}

std::string to_json(const Setup& setup, const std::vector<Row>& rows, int indent) {
  nlohmann::ordered_json table{{"benchmark", "life"},
                               {"pattern", setup.pattern},
                               {"device", setup.device},
                               {"mpi", setup.mpi},
                               {"ranks", setup.ranks},
                               {"rank_grid", {setup.columns, setup.rows}},
                               {"cells", {setup.width, setup.height}},
                               {"generations", setup.generations},
                               {"rounds", setup.rounds},
                               {"oversubscribed", setup.oversubscribed},
                               {"rows", nlohmann::ordered_json::array()}};
  for (const Row& row : rows) {
    nlohmann::ordered_json entry{{"variant", row.name},
                                 {"transport", row.transport},
                                 {"us_per_step", to_json(row.step_us)},
                                 {"enqueue_us_per_step", to_json(row.enqueue_us)}};
    if (const auto speed = speed_up(setup, rows, row)) entry["speed_up"] = *speed;
    table["rows"].push_back(entry);
  }
  // The pattern is named after its file, whose name may be any bytes.
  return table.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace penstock::life
