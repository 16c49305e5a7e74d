// SPDX-License-Identifier: Apache-2.0
#include "penstock/model_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace penstock::tool {
namespace {

using nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw std::runtime_error(fmt::format("{}: {}", path, why));
}

Curve curve_of(const ordered_json& points, const std::string& what) {
  const auto read = points.get<Curve::Points>();
  if (read.empty()) throw std::runtime_error("no points of " + what);
  for (std::size_t i = 0; i < read.size(); ++i)
    if (read[i].first < 0 || read[i].second <= 0 || (i > 0 && read[i].first <= read[i - 1].first))
      throw std::runtime_error(fmt::format(
          "the points of {} must be [size, us] with rising sizes and times above 0", what));
  return Curve(read);
}

// Latencies between nodes alone are those of all messages, and one list of times those of all ways.
Way way_of(const std::string& name, const ordered_json& latencies, const ordered_json& compute) {
  const ordered_json& between = latencies.at("between");
  return {name, curve_of(latencies.value("inside", between), name + " inside"),
          curve_of(between, name + " between"),
          curve_of(compute.is_array() ? compute : compute.at(name), "compute"), 0};
}

int at_least_one(const ordered_json& input, const char* name, int usual) {
  const int value = input.value(name, usual);
  if (value < 1) throw std::runtime_error(fmt::format("{} must be 1 or more", name));
  return value;
}

Problem problem_of(const ordered_json& input) {
  Problem problem{input.at("cells").get<std::vector<int>>(), input.value("cell_bytes", 8.0),
                  at_least_one(input, "ghosts", 1)};
  const auto& cells = problem.cells;
  if (cells.size() < 2 || cells.size() > 3 || *std::min_element(cells.begin(), cells.end()) < 1)
    throw std::runtime_error("cells must be two or three numbers of 1 or more");
  return problem;
}

ModelInput input_of(const ordered_json& input) {
  ModelInput model{input.value("source", ""),
                   {{},
                    at_least_one(input, "ranks_a_node", 1),
                    at_least_one(input, "links_a_node", 1),
                    input.value("few_cells", "proportional") == "straight"},
                   problem_of(input),
                   {}};
  for (const auto& [name, latencies] : input.at("latency").items())
    model.machine.ways.push_back(way_of(name, latencies, input.at("compute")));
  if (model.machine.ways.empty()) throw std::runtime_error("there are no latencies");
  for (const auto& each : input.value("published", ordered_json::array()))
    model.published.push_back({each.at("way").get<std::string>(), each.at("ranks").get<int>(),
                               each.value("speedup", 0.0), each.value("us", 0.0)});
  return model;
}

}  // namespace

ModelInput read_model_input(const std::string& path) {
  std::ifstream file(path);
  if (!file) refuse(path, "cannot be read");
  try {
    return input_of(ordered_json::parse(file));
  } catch (const std::exception& failure) {
    refuse(path, failure.what());
  }
}

// The smallest of several lines of one size: the others had something beside.
void take_latencies(ModelInput& input, const std::string& way, const std::string& path,
                    const std::string& side) {
  std::ifstream file(path);
  if (!file) refuse(path, "cannot be read");
  std::map<double, double> points;
  try {
    for (std::string text; std::getline(file, text);) {
      if (text.empty() || text.front() != '{') continue;
      const auto line = ordered_json::parse(text);
      if (line.value("benchmark", "") != "latency" || !line.contains(side)) continue;
      const double us = line.at(side).at("median").get<double>();
      const auto point = points.try_emplace(line.at("bytes").get<double>(), us).first;
      point->second = std::min(point->second, us);
    }
  } catch (const std::exception& failure) {
    refuse(path, failure.what());
  }
  if (points.empty())
    refuse(path, "no lines of `penstock bench latency --json` with the side " + side);
  const Curve curve(Curve::Points(points.begin(), points.end()));
  auto& ways = input.machine.ways;
  const auto known =
      std::find_if(ways.begin(), ways.end(), [&](const Way& each) { return each.name == way; });
  if (known == ways.end()) return ways.push_back({way, curve, curve, ways.front().compute, 0});
  known->inside = known->between = curve;
}

}  // namespace penstock::tool
