// SPDX-License-Identifier: Apache-2.0
#include "cuda_table.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

namespace penstock::bench {
namespace {

using Kind = CudaTable::Kind;

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::latency:
      return "latency";
    case Kind::bandwidth:
      return "bandwidth";
    case Kind::multi_pair:
      return "multi-pair";
    case Kind::message_rate:
      return "message-rate";
    case Kind::exchange:
      return "exchange";
    default:
      return "halo";
  }
}

const char* unit_of(Kind kind) {
  return kind == Kind::bandwidth || kind == Kind::multi_pair ? "MB/s"
         : kind == Kind::message_rate                        ? "M/s"
                                                             : "us";
}

const char* meaning_of(Kind kind) {
  switch (kind) {
    case Kind::latency:
      return "us, half round trip";
    case Kind::bandwidth:
      return "MB/s, one way";
    case Kind::multi_pair:
      return "MB/s of all pairs, one way";
    case Kind::message_rate:
      return "millions of messages a second of all pairs, one way";
    default:
      return "us, an exchange; MB/s, sent by all ranks";
  }
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
      "# Penstock {} on CUDA ({}), {} ranks, {}, {} sends, {} receives{}{}; medians and quartiles "
      "of {} rounds\n",
      name_of(kind_), device.name, session_.size(), options_.graph ? "graphs" : "streams",
      bench::name_of(options_.mode), bench::name_of(options_.order),
      options_.pack ? ", pack and unpack kernels" : "",
      options_.check ? ", every byte checked" : "", options_.rounds);
  fmt::print("{:>10}", "# bytes");
  for (const auto& side : sides) {
    fmt::print(" {:>12} {:>19}", side->name(), "spread");
    if (is_exchange()) fmt::print(" {:>11}", "MB/s");
    if (side->blocks()) fmt::print(" {:>6}", "blocks");
  }
  for (std::size_t i = 1; i < sides.size(); ++i)
    fmt::print(" {:>18}", sides[i]->name() + " / ours");
  fmt::print("   ({})\n", meaning_of(kind_));
  std::fflush(stdout);
}

void CudaTable::print(const Outcome& outcome, const Sides& sides) const {
  if (!session_.is_root()) return;
  const Measurement measured = measurement(outcome, sides);
  if (options_.as_json)
    fmt::print("{}\n", json_line(measured, options_, session_));
  else
    print_row(measured);
  std::fflush(stdout);
}

void CudaTable::print_costs(std::size_t bytes, const std::string& name,
                            const Side::Costs& costs) const {
  if (!session_.is_root()) return;
  if (options_.as_json) {
    nlohmann::ordered_json line{{"benchmark", "enqueue"},
                                {"of", name_of(kind_)},
                                {"order", bench::name_of(options_.order)},
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
  fmt::print(
      "# {}: the calls of a round of {} bytes cost the caller {:.2f} us; timed one by one: {}\n",
      name, bytes, costs.together, calls);
}

double CudaTable::shown(double us, const Outcome& outcome) const {
  switch (kind_) {
    case Kind::latency:
      return us / 2;
    case Kind::bandwidth:
    case Kind::multi_pair:
      return outcome.moved / us;
    case Kind::message_rate:
      return static_cast<double>(outcome.messages) * (session_.size() / 2) / us;
    default:
      return us;
  }
}

Measurement CudaTable::measurement(const Outcome& outcome, const Sides& sides) const {
  Measurement all{.benchmark = name_of(kind_),
                  .unit = unit_of(kind_),
                  .more_is_better = is_bandwidth() || kind_ == Kind::message_rate,
                  .bytes = outcome.bytes,
                  .messages = outcome.messages,
                  .iterations = outcome.trips};
  for (const auto& side : sides) {
    Figure figure{side->name(), {}, side->blocks()};
    for (const double us : side->samples()) figure.samples.push_back(shown(us, outcome));
    all.figures.push_back(std::move(figure));
  }
  if (is_exchange()) all.moved = outcome.moved;
  if (kind_ == Kind::exchange) all.pairs = options_.pairs == Pairs::all ? "all" : "neighbours";
  all.transport = outcome.transport;
  all.edge = outcome.edge;
  return all;
}

void CudaTable::print_row(const Measurement& measurement) const {
  fmt::print("{:>10}", measurement.bytes);
  for (const Figure& figure : measurement.figures) {
    const tool::Summary each = figure.summary();
    fmt::print(" {:>12.2f} {:>19}", each.median, tool::spread_text(each));
    if (measurement.moved) fmt::print(" {:>11.1f}", *measurement.moved / each.median);
    if (figure.blocks) fmt::print(" {:>6}", *figure.blocks);
  }
  for (std::size_t i = 1; i < measurement.figures.size(); ++i)
    fmt::print(" {:>18.2f}", gain(measurement, measurement.figures[i]));
  fmt::print("\n");
}

}  // namespace penstock::bench
