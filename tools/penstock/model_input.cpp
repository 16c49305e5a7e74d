// SPDX-License-Identifier: Apache-2.0
#include "penstock/model_input.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace penstock::tool {
namespace {

using nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw std::runtime_error(fmt::format("{}: {}", path, why));
}

// Without the names of errors that the JSON library has in brackets before its text.
std::string plain(const nlohmann::json::exception& failure) {
  const std::string text = failure.what();
  const std::size_t bracket = text.find("] ");
  return bracket == std::string::npos ? text : text.substr(bracket + 2);
}

// A JSON object that has no other keys than these. `place` says where it stands: "" or
// "published[0]".
class Keys {
 public:
  Keys(const ordered_json& object, std::string place, const std::vector<std::string>& known)
      : object_(object), place_(std::move(place)) {
    const std::string all = fmt::format("{}", fmt::join(known, ", "));
    if (!object.is_object())
      throw std::runtime_error(fmt::format("{}must be an object with the keys {}",
                                           place_.empty() ? "it " : place_ + " ", all));
    for (const auto& [key, value] : object.items())
      if (std::find(known.begin(), known.end(), key) == known.end())
        throw std::runtime_error(
            fmt::format("{} is no key that is known there: {}", name_of(key), all));
  }

  std::string name_of(const std::string& key) const {
    return place_.empty() ? key : place_ + "." + key;
  }
  bool has(const char* key) const { return object_.contains(key); }
  [[noreturn]] void expect(const char* key, const std::string& what) const {
    throw std::runtime_error(
        fmt::format("{} {} {}", name_of(key), has(key) ? "must be" : "is missing: it is", what));
  }

  const ordered_json& need(const char* key, const char* what) const {
    if (!has(key)) expect(key, what);
    return object_.at(key);
  }
  std::string need_text(const char* key, const char* what) const {
    if (!has(key) || !object_.at(key).is_string()) expect(key, what);
    return object_.at(key).get<std::string>();
  }
  // A whole number from 1 on.
  int need_count(const char* key, int most = std::numeric_limits<int>::max()) const {
    if (!has(key) || !is_count(object_.at(key), most))
      expect(key, fmt::format("a whole number from 1 to {}", most));
    return object_.at(key).get<int>();
  }
  int count(const char* key, int usual) const { return has(key) ? need_count(key) : usual; }
  double above_zero(const char* key, double usual) const {
    if (!has(key)) return usual;
    const ordered_json& value = object_.at(key);
    if (!value.is_number() || !(value.get<double>() > 0)) expect(key, "a number above 0");
    return value.get<double>();
  }

  static bool is_count(const ordered_json& value, int most = std::numeric_limits<int>::max()) {
    return value.is_number_integer() && value.get<double>() >= 1 && value.get<double>() <= most;
  }

 private:
  const ordered_json& object_;
  const std::string place_;
};

constexpr const char* points_of_latency = "points of [bytes, us], with rising bytes";

bool is_point(const ordered_json& point) {
  return point.is_array() && point.size() == 2 && point[0].is_number() && point[1].is_number() &&
         point[0].get<double>() >= 0 && point[1].get<double>() > 0;
}

Curve curve_of(const ordered_json& points, const std::string& name) {
  const auto wrong = [&] {
    throw std::runtime_error(fmt::format(
        "{} must be a list of points [size, us], at least one, with rising sizes and times above 0",
        name));
  };
  if (!points.is_array() || points.empty()) wrong();
  Curve::Points read;
  for (const ordered_json& point : points) {
    if (!is_point(point) || (!read.empty() && point[0].get<double>() <= read.back().first)) wrong();
    read.emplace_back(point[0].get<double>(), point[1].get<double>());
  }
  return Curve(read);
}

// Latencies between nodes alone are those of all messages.
Way way_of(const std::string& name, const ordered_json& latencies, const Curve& compute) {
  const Keys keys(latencies, "latency." + name, {"between", "inside"});
  const Curve between = curve_of(keys.need("between", points_of_latency), keys.name_of("between"));
  return {name,
          keys.has("inside") ? curve_of(latencies.at("inside"), keys.name_of("inside")) : between,
          between, compute, 0};
}

// One list of times is that of all ways.
std::vector<Way> ways_of(const Keys& input) {
  const ordered_json& latency = input.need("latency", "latencies by way");
  if (!latency.is_object() || latency.empty())
    input.expect("latency", "an object with the latencies of each way, at least one");
  const ordered_json& compute =
      input.need("compute", "points of [cells, us] of a step on one rank, or those by way");
  std::vector<std::string> names;
  for (const auto& [name, latencies] : latency.items()) names.push_back(name);
  std::vector<Way> ways;
  for (const auto& [name, latencies] : latency.items()) {
    if (!compute.is_object()) {
      ways.push_back(way_of(name, latencies, curve_of(compute, "compute")));
      continue;
    }
    const Keys by_way(compute, "compute", names);
    ways.push_back(way_of(name, latencies,
                          curve_of(by_way.need(name.c_str(), "points of [cells, us] of that way"),
                                   by_way.name_of(name))));
  }
  return ways;
}

Problem problem_of(const Keys& input) {
  constexpr const char* expected = "two or three whole numbers from 1 on";
  const ordered_json& cells = input.need("cells", expected);
  if (!cells.is_array() || cells.size() < 2 || cells.size() > 3 ||
      !std::all_of(cells.begin(), cells.end(),
                   [](const ordered_json& each) { return Keys::is_count(each); }))
    input.expect("cells", expected);
  return {cells.get<std::vector<int>>(), input.above_zero("cell_bytes", 8),
          input.count("ghosts", 1)};
}

bool is_straight(const Keys& input) {
  if (!input.has("few_cells")) return false;
  constexpr const char* expected = "\"proportional\" or \"straight\"";
  const std::string text = input.need_text("few_cells", expected);
  if (text != "proportional" && text != "straight") input.expect("few_cells", expected);
  return text == "straight";
}

std::vector<Published> published_of(const Keys& input) {
  std::vector<Published> published;
  if (!input.has("published")) return published;
  const ordered_json& all = input.need("published", "a list");
  if (!all.is_array()) input.expect("published", "a list");
  for (const ordered_json& each : all) {
    const Keys keys(each, fmt::format("published[{}]", published.size()),
                    {"way", "ranks", "speedup", "us"});
    if (keys.has("speedup") == keys.has("us"))
      throw std::runtime_error(
          fmt::format("published[{}] must have either speedup or us", published.size()));
    published.push_back({keys.need_text("way", "a way that has latencies"),
                         keys.need_count("ranks", most_ranks), keys.above_zero("speedup", 0),
                         keys.above_zero("us", 0)});
  }
  return published;
}

ModelInput input_of(const ordered_json& file) {
  const Keys input(file, "",
                   {"source", "cells", "cell_bytes", "ghosts", "latency", "compute", "few_cells",
                    "ranks_a_node", "links_a_node", "published"});
  return {input.has("source") ? input.need_text("source", "a text") : "",
          {ways_of(input), input.count("ranks_a_node", 1), input.count("links_a_node", 1),
           is_straight(input)},
          problem_of(input),
          published_of(input)};
}

}  // namespace

ModelInput read_model_input(const std::string& path) {
  std::ifstream file(path);
  if (!file) refuse(path, "cannot be read");
  try {
    return input_of(ordered_json::parse(file));
  } catch (const nlohmann::json::exception& failure) {
    refuse(path, plain(failure));
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
  int number = 0;
  try {
    for (std::string text; std::getline(file, text);) {
      ++number;
      if (text.empty() || text.front() != '{') continue;
      const auto line = ordered_json::parse(text);
      if (line.value("benchmark", "") != "latency" || !line.contains(side)) continue;
      const double bytes = line.at("bytes").get<double>();
      const double us = line.at(side).at("median").get<double>();
      if (!(bytes >= 0) || !(us > 0)) throw std::runtime_error("sizes and times must be above 0");
      const auto point = points.try_emplace(bytes, us).first;
      point->second = std::min(point->second, us);
    }
  } catch (const nlohmann::json::exception& failure) {
    refuse(path, fmt::format("line {}: {}", number, plain(failure)));
  } catch (const std::exception& failure) {
    refuse(path, fmt::format("line {}: {}", number, failure.what()));
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
