// SPDX-License-Identifier: Apache-2.0
#include "penstock/tuning_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <penstock/penstock.hpp>
#include <stdexcept>

#include "collective_algorithms.hpp"

namespace penstock::tool {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& path) {
  throw std::runtime_error(fmt::format("{} cannot be written: {}", path, std::strerror(errno)));
}

ordered_json conditions(const bench::Options& options, const Session& session, const Nodes& nodes) {
  const json library = json::parse(describe());
  return {{"penstock", library.at("version")},
          {"mpi", session.mpi_name()},
          {"thread_level", thread_level_name(session.thread_level())},
          {"host", library.at("host")},
          {"processor", library.at("processor")},
          {"device", options.on_cuda() ? "cuda" : "host"},
          {"mode", options.graph ? "graph" : "stream"},
          {"ranks", session.size()},
          {"nodes", nodes.count},
          {"ranks_a_node", nodes.ranks_a_node},
          {"rounds", options.rounds}};
}

ordered_json entry_of(const bench::Comparison& comparison, const bench::Options& options,
                      const Session& session, const Nodes& nodes) {
  const bench::Figure& fastest = comparison.fastest();
  const Summary us = fastest.summary();
  return {{"collective", bench::collective_name(comparison.kind)},
          {"memory", options.on_cuda() ? "gpu" : "host"},
          {"ranks", session.size()},
          {"nodes", nodes.count},
          {"ranks_a_node", nodes.ranks_a_node},
          {"up_to_bytes", comparison.bytes},
          {"algorithm", fastest.side},
          {"measured", {{"median_us", us.median}, {"low_us", us.low}, {"high_us", us.high}}}};
}

}  // namespace

void require_writable(const std::string& path) {
  const bool was_there = std::filesystem::exists(path);
  if (!std::ofstream(path, std::ios::app)) refuse(path);
  if (!was_there) std::filesystem::remove(path);
}

void write_tuning(const std::string& path, const std::vector<bench::Comparison>& comparisons,
                  const bench::Options& options, const Session& session, const Nodes& nodes) {
  ordered_json file{{"measured_on", conditions(options, session, nodes)}};
  file["entries"] = ordered_json::array();
  for (const bench::Comparison& each : comparisons)
    file["entries"].push_back(entry_of(each, options, session, nodes));
  std::ofstream stream(path);
  stream << file.dump(2, ' ', false, ordered_json::error_handler_t::replace) << "\n";
  if (!stream.flush()) refuse(path);
}

}  // namespace penstock::tool
