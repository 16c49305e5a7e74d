// SPDX-License-Identifier: Apache-2.0
#include "json_line.hpp"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

namespace penstock::bench {

using nlohmann::ordered_json;

ordered_json summary_to_json(const tool::Summary& summary) {
  return {{"median", summary.median}, {"low", summary.low}, {"high", summary.high}};
}

ordered_json samples_to_json(const tool::Summary& summary) {
  ordered_json json = summary_to_json(summary);
  json["samples"] = summary.samples;
  return json;
}

namespace {

ordered_json to_json(const Figure& figure, const Row& row, bool is_exchange) {
  ordered_json cell = samples_to_json(figure.summary());
  if (is_exchange) cell["MB/s"] = static_cast<double>(row.moved) / figure.summary().median;
  if (figure.blocks) cell["blocks"] = *figure.blocks;
  if (figure.caller_ns) cell["caller_ns"] = summary_to_json(*figure.caller_ns);
  return cell;
}

// The library's own setting: whether its kernels follow one another by dependent launch.
const char* launch_of_library() {
  const char* const setting = std::getenv("PENSTOCK_CUDA_DEPENDENT_LAUNCH");
  return setting != nullptr && std::string_view(setting) == "0" ? "plain" : "dependent";
}

// How many times as fast Penstock is.
double gain(const Measurement& measurement, const Figure& other, bool less_is_better) {
  const double ours = measurement.figures.front().summary().median;
  const double theirs = other.summary().median;
  return less_is_better ? theirs / ours : ours / theirs;
}

void add_figures(ordered_json& line, const Measurement& measurement, const Options& options) {
  const std::string unit = about(options.kind).unit;
  line["unit"] = unit;
  for (const Figure& figure : measurement.figures)
    line[figure.side] = to_json(figure, measurement.row, is_exchange(options.kind));
  for (std::size_t i = 1; i < measurement.figures.size(); ++i)
    line["gain_over_" + measurement.figures[i].side] =
        gain(measurement, measurement.figures[i], unit == "us");
  if (const auto& caller_ns = measurement.figures.front().caller_ns)
    line["caller_ns"] = summary_to_json(*caller_ns);
}

// Which one serves, and whether it was asked for.
void add_algorithm(ordered_json& line, const Measurement& measurement) {
  line["algorithm"] = measurement.algorithm;
  const std::string& wish = measurement.row.traffic.algorithm;
  if (!wish.empty()) line["wished_algorithm"] = wish;
}

// On host streams an iteration of a window is a message.
int iterations_of(const Measurement& measurement, const Options& options) {
  const bool of_messages = is_windowed(options.kind) && !options.on_cuda();
  return measurement.trips * (of_messages ? static_cast<int>(measurement.row.messages) : 1);
}

}  // namespace

std::string json_line(const Measurement& measurement, const Options& options,
                      const tool::Session& session) {
  ordered_json line{{"benchmark", about(options.kind).name},
                    {"device", options.on_cuda() ? "cuda" : "host"},
                    {"mode", options.graph ? "graph" : "stream"}};
  if (options.on_cuda()) line["launch"] = launch_of_library();
  line["ranks"] = session.size();
  line["bytes"] = measurement.row.bytes;
  if (is_collective(options.kind))
    add_algorithm(line, measurement);
  else
    line["messages"] = measurement.row.messages;
  if (options.layout.has_gaps()) {
    line["row"] = options.layout.row;
    line["gap"] = options.layout.gap;
  }
  add_figures(line, measurement, options);
  if (options.kind == Kind::exchange)
    line["pairs"] = options.pairs == Pairs::all ? "all" : "neighbours";
  if (measurement.row.edge > 0) line["edge"] = measurement.row.edge;
  line["transport"] = measurement.transport;
  line["memory"] = options.on_cuda() ? "cudaMalloc" : name_of(options.memory);
  if (!is_collective(options.kind)) {
    line["send"] = name_of(options.mode);
    line["order"] = name_of(options.order);
    line["pack"] = options.pack;
    line["checked"] = options.check;
  }
  line["library"] = session.mpi_name();
  line["thread_level"] = tool::thread_level_name(session.thread_level());
  line["rounds"] = options.rounds;
  line["iterations"] = iterations_of(measurement, options);
  return line.dump();
}

std::string json_line(const std::string& name, const std::string& unit, const tool::Summary& cost,
                      const tool::Summary* mpi, const tool::Session& session) {
  ordered_json line{
      {"benchmark", "cost"}, {"name", name}, {"unit", unit}, {"penstock", summary_to_json(cost)}};
  if (mpi != nullptr) line["mpi"] = summary_to_json(*mpi);
  line["library"] = session.mpi_name();
  return line.dump();
}

std::string json_line(std::size_t bytes, const std::string& side, const CallCosts& costs,
                      const Options& options) {
  ordered_json line{{"benchmark", "enqueue"},
                    {"of", about(options.kind).name},
                    {"order", name_of(options.order)},
                    {"side", side},
                    {"bytes", bytes},
                    {"us", costs.together},
                    {"calls", ordered_json::object()}};
  for (const CallCost& each : costs.calls) line["calls"][each.call] = each.us / each.calls;
  return line.dump();
}

}  // namespace penstock::bench
