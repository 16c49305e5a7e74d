// SPDX-License-Identifier: Apache-2.0
#include "json_line.hpp"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

namespace penstock::bench {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const tool::Summary& summary) {
  return {{"median", summary.median}, {"low", summary.low}, {"high", summary.high}};
}

ordered_json to_json(const Figure& figure, const Measurement& measurement) {
  ordered_json cell = to_json(figure.summary());
  cell["samples"] = figure.samples;
  if (measurement.moved) cell["MB/s"] = *measurement.moved / figure.summary().median;
  if (figure.blocks) cell["blocks"] = *figure.blocks;
  return cell;
}

// The library's own setting: whether its kernels follow one another by dependent launch.
const char* launch_of_library() {
  const char* const setting = std::getenv("PENSTOCK_CUDA_DEPENDENT_LAUNCH");
  return setting != nullptr && std::string_view(setting) == "0" ? "plain" : "dependent";
}

void add_device(ordered_json& line, const Options& options) {
  const bool cuda = options.device == DeviceKind::cuda;
  line["device"] = cuda ? "cuda" : "host";
  line["mode"] = options.graph ? "graph" : "stream";
  if (cuda) line["launch"] = launch_of_library();
}

}  // namespace

double gain(const Measurement& measurement, const Figure& other) {
  const double ours = measurement.figures.front().summary().median;
  const double theirs = other.summary().median;
  return measurement.more_is_better ? ours / theirs : theirs / ours;
}

std::string json_line(const Measurement& measurement, const Options& options,
                      const tool::Session& session) {
  ordered_json line{{"benchmark", measurement.benchmark}};
  add_device(line, options);
  line["ranks"] = session.size();
  line["bytes"] = measurement.bytes;
  line["messages"] = measurement.messages;
  line["unit"] = measurement.unit;
  for (const Figure& figure : measurement.figures) line[figure.side] = to_json(figure, measurement);
  for (std::size_t i = 1; i < measurement.figures.size(); ++i)
    line["gain_over_" + measurement.figures[i].side] = gain(measurement, measurement.figures[i]);
  if (measurement.caller_ns) line["caller_ns"] = to_json(*measurement.caller_ns);
  if (!measurement.pairs.empty()) line["pairs"] = measurement.pairs;
  if (measurement.edge > 0) line["edge"] = measurement.edge;
  line["transport"] = measurement.transport;
  line["memory"] = options.device == DeviceKind::cuda ? "cudaMalloc" : name_of(options.memory);
  line["send"] = name_of(options.mode);
  line["order"] = name_of(options.order);
  line["pack"] = options.pack;
  line["library"] = session.mpi_name();
  line["thread_level"] = tool::thread_level_name(session.thread_level());
  line["rounds"] = options.rounds;
  line["iterations"] = measurement.iterations;
  line["checked"] = options.check;
  return line.dump();
}

}  // namespace penstock::bench
