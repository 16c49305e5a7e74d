// SPDX-License-Identifier: Apache-2.0
#include "cuda_table.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

namespace penstock::bench {
namespace {

const char* name_of(CudaTable::Kind kind) {
  switch (kind) {
    case CudaTable::Kind::latency:
      return "latency";
    case CudaTable::Kind::bandwidth:
      return "bandwidth";
    default:
      return "exchange";
  }
}

const char* unit_of(CudaTable::Kind kind) {
  return kind == CudaTable::Kind::bandwidth ? "MB/s" : "us";
}

// The library's own setting: whether its kernels follow one another by dependent launch.
const char* launch_of_library() {
  const char* const setting = std::getenv("PENSTOCK_CUDA_DEPENDENT_LAUNCH");
  return setting != nullptr && std::string_view(setting) == "0" ? "plain" : "dependent";
}

const char* order_of(const Options& options) {
  return options.order == Order::sequential ? "sequential" : "preposted";
}

}  // namespace

CudaTable::CudaTable(Kind kind, const Options& options, const tool::Session& session)
    : kind_(kind), options_(options), session_(session) {}

void CudaTable::print_note(const std::string& text) const {
  if (session_.is_root() && !options_.as_json) fmt::print("# {}\n", text);
}

void CudaTable::print_header(const Sides& sides) const {
  if (!session_.is_root() || options_.as_json) return;
  cudaDeviceProp device{};
  CHECK_CUDA(cudaGetDeviceProperties(&device, 0));
  fmt::print(
      "# Penstock {} on CUDA ({}), {} ranks, {}, {} sends, {} receives{}{}; medians and quartiles of {} rounds\n",
      name_of(kind_), device.name, session_.size(), options_.graph ? "graphs" : "streams",
      bench::name_of(options_.mode), order_of(options_), options_.pack ? ", pack and unpack kernels" : "",
      options_.check ? ", every byte checked" : "", options_.rounds);
  fmt::print("{:>10}", "# bytes");
  for (const auto& side : sides) {
    fmt::print(" {:>12} {:>19}", side->name(), "spread");
    if (kind_ == Kind::exchange) fmt::print(" {:>11}", "MB/s");
    if (side->blocks()) fmt::print(" {:>6}", "blocks");
  }
  for (std::size_t i = 1; i < sides.size(); ++i) fmt::print(" {:>18}", sides[i]->name() + " / ours");
  fmt::print("   ({})\n", kind_ == Kind::latency     ? "us, half round trip"
                          : kind_ == Kind::bandwidth ? "MB/s, one way"
                                                     : "us, an exchange; MB/s, sent by all ranks");
  std::fflush(stdout);
}

void CudaTable::print(const Outcome& outcome, const Sides& sides) const {
  if (!session_.is_root()) return;
  if (options_.as_json)
    print_json(outcome, sides);
  else
    print_row(outcome, sides);
  std::fflush(stdout);
}

void CudaTable::print_costs(std::size_t bytes, const std::string& name, const Side::Costs& costs) const {
  if (!session_.is_root()) return;
  if (options_.as_json) {
    nlohmann::ordered_json line{{"benchmark", "enqueue"},
                                {"of", name_of(kind_)},
                                {"order", order_of(options_)},
                                {"side", name},
                                {"bytes", bytes},
                                {"us", costs.together},
                                {"calls", nlohmann::ordered_json::object()}};
    for (const CallCost& each : costs.calls) line["calls"][each.call] = each.us / each.calls;
    fmt::print("{}\n", line.dump());
    return;
  }
  std::string calls;
  for (const CallCost& each : costs.calls)
    calls += fmt::format("{}{} {:.2f}", calls.empty() ? "" : ", ", each.call, each.us / each.calls);
  fmt::print("# {}: the calls of a round of {} bytes cost the caller {:.2f} us; timed one by one: {}\n", name, bytes,
             costs.together, calls);
}

double CudaTable::shown(double us, const Outcome& outcome) const {
  switch (kind_) {
    case Kind::latency:
      return us / 2;
    case Kind::bandwidth:
      return outcome.moved / us;
    default:
      return us;
  }
}

tool::Summary CudaTable::summary(const Side& side, const Outcome& outcome) const {
  std::vector<double> values;
  for (const double us : side.samples()) values.push_back(shown(us, outcome));
  return tool::summarize(values);
}

double CudaTable::gain(const tool::Summary& ours, const tool::Summary& theirs) const {
  return kind_ == Kind::bandwidth ? ours.median / theirs.median : theirs.median / ours.median;
}

void CudaTable::print_row(const Outcome& outcome, const Sides& sides) const {
  fmt::print("{:>10}", outcome.bytes);
  const tool::Summary ours = summary(*sides.front(), outcome);
  for (const auto& side : sides) {
    const tool::Summary each = summary(*side, outcome);
    fmt::print(" {:>12.2f} {:>19}", each.median, tool::spread_text(each));
    if (kind_ == Kind::exchange) fmt::print(" {:>11.1f}", outcome.moved / each.median);
    if (side->blocks()) fmt::print(" {:>6}", *side->blocks());
  }
  for (std::size_t i = 1; i < sides.size(); ++i) fmt::print(" {:>18.2f}", gain(ours, summary(*sides[i], outcome)));
  fmt::print("\n");
}

void CudaTable::print_json(const Outcome& outcome, const Sides& sides) const {
  nlohmann::ordered_json line{
      {"benchmark", name_of(kind_)},   {"device", "cuda"},       {"mode", options_.graph ? "graph" : "stream"},
      {"launch", launch_of_library()}, {"bytes", outcome.bytes}, {"unit", unit_of(kind_)}};
  const tool::Summary ours = summary(*sides.front(), outcome);
  for (const auto& side : sides) {
    const tool::Summary each = summary(*side, outcome);
    auto& cell = line[side->name()] = {{"median", each.median}, {"low", each.low}, {"high", each.high}};
    if (kind_ == Kind::exchange) cell["MB/s"] = outcome.moved / each.median;
    if (side->blocks()) cell["blocks"] = *side->blocks();
    if (side != sides.front()) line["gain_over_" + side->name()] = gain(ours, each);
  }
  if (kind_ == Kind::exchange) {
    line["ranks"] = session_.size();
    line["pairs"] = options_.pairs == Pairs::all ? "all" : "neighbours";
    line["messages"] = outcome.messages;
  }
  line["send"] = bench::name_of(options_.mode);
  line["order"] = order_of(options_);
  line["pack"] = options_.pack;
  line["rounds"] = options_.rounds;
  line["iterations"] = outcome.trips;
  line["checked"] = options_.check;
  fmt::print("{}\n", line.dump());
}

}  // namespace penstock::bench
