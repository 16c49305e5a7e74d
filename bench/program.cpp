// SPDX-License-Identifier: Apache-2.0
// The one program of all benchmarks: rows of traffic, a side for each library, rounds in turns.
#include <fmt/core.h>

#include <set>
#include <stdexcept>
#include <utility>

#include "bench_table.hpp"
#include "caller_cost.hpp"
#include "collective_check.hpp"
#include "device.hpp"
#include "rounds.hpp"
#include "run_delay.hpp"
#include "support/progress.hpp"
#include "window_cost.hpp"

namespace penstock::bench {
namespace {

// Whether ranks end at different times, each with a time of its own.
bool takes_slowest(const Options& options, const tool::Session& session) {
  if (is_collective(options.kind)) return true;
  if (options.on_cuda()) return is_windowed(options.kind) && session.size() > 2;
  return !is_ping_pong(options.kind);
}

// What can be measured at all, with so many ranks.
void require_possible(const Options& options, const tool::Session& session) {
  const char* const command = about(options.kind).command;
  if (options.kind == Kind::exchange && !options.on_cuda())
    throw tool::UserError("bench exchange measures CUDA streams: give --device cuda");
  const bool odd = session.size() % 2 != 0;
  if (is_ping_pong(options.kind) || options.kind == Kind::bandwidth) {
    if (session.size() != 2)
      throw tool::UserError(fmt::format(
          "bench {0} needs exactly 2 ranks and has {1}: run it as mpiexec -n 2 penstock bench {0}",
          command, session.size()));
  } else if (is_windowed(options.kind) && odd) {
    throw tool::UserError(
        fmt::format("bench {0} needs an even number of ranks and has {1}: run it as mpiexec -n 4 "
                    "penstock bench {0}",
                    command, session.size()));
  } else if (options.kind == Kind::exchange &&
             (session.size() < 2 || (options.pairs == Pairs::neighbours && odd))) {
    throw tool::UserError(
        fmt::format("bench exchange has {} ranks and needs an even number of them, or with --pairs "
                    "all at least 2",
                    session.size()));
  }
  if (is_exchange(options.kind) && options.mode == Mode::ready)
    throw tool::UserError(fmt::format(
        "bench {} starts sends and receives together, so that sends cannot be ready", command));
}

void require_right(const Side& side, std::size_t bytes) {
  const CheckResult result = side.checked();
  if (result.wrong_bytes != 0)
    throw std::runtime_error(fmt::format(
        "check failed: {}, messages of {} bytes: {} wrong bytes in {} messages{}", side.name(),
        bytes, result.wrong_bytes, result.messages,
        result.first_wrong ? fmt::format(", first in message {}", *result.first_wrong) : ""));
  if (result.messages == 0)
    throw std::runtime_error(fmt::format("check failed: {}: no message was checked", side.name()));
}

class Program {
 public:
  Program(const Options& options, const tool::Session& session)
      : options_(options),
        session_(session),
        device_(make_device(options, session)),
        table_(options, session) {}

  void run() {
    for (const Row& row : rows_of(options_, session_))
      if (!refused_.contains(row.traffic.algorithm)) measure(row);
    if (is_first_) throw tool::UserError("nothing was measured: no algorithm serves this");
    if (!options_.on_cuda() && options_.kind == Kind::latency)
      print_caller_costs(options_, session_, table_);
    if (!options_.on_cuda() && options_.kind == Kind::rma)
      print_window_costs(options_, session_, table_);
    warn_of_run_delay(measured_, session_);
  }

 private:
  // One that cannot be had is named with the reason, and its column left out.
  Sides make_sides(const Traffic& traffic) {
    std::vector<std::string> libraries = device_->libraries();
    libraries.insert(libraries.end(), options_.baselines.begin(), options_.baselines.end());
    Sides sides;
    for (const std::string& library : libraries) {
      std::string why_not;
      if (auto side = device_->make_side(library, traffic, why_not))
        sides.push_back(std::move(side));
      else if (library == libraries.front())
        return refuse(traffic.algorithm, why_not);
      else if (is_first_ && session_.is_root())
        fmt::print(stderr, "no baseline {}: {}\n", library, why_not);
    }
    return sides;
  }

  // Of several algorithms each is measured that serves these ranks.
  Sides refuse(const std::string& algorithm, const std::string& why_not) {
    if (options_.algorithms.size() < 2)
      throw tool::UserError(fmt::format("bench {}: {}", about(options_.kind).command, why_not));
    if (session_.is_root()) fmt::print(stderr, "no rows of {}: {}\n", algorithm, why_not);
    refused_.insert(algorithm);
    return {};
  }

  void measure(const Row& row) {
    const Sides sides = make_sides(row.traffic);
    if (sides.empty()) return;
    if (is_collective(options_.kind))
      for (const auto& side : sides) require_right_result(options_.kind, row, *side, *device_);
    Measurement measured{.row = row,
                         .trips = device_->trips_for(row),
                         .transport = sides.front()->transport(),
                         .algorithm = sides.front()->algorithm()};
    for (const auto& side : sides) measured.figures.push_back({side->name(), {}, side->blocks()});
    if (is_first_) table_.print_header(device_->description(), measured);
    run_rounds(sides, measured);
    if (options_.check)
      for (const auto& side : sides) require_right(*side, row.bytes);
    table_.print(measured);
    if (std::exchange(is_first_, false))
      for (const auto& side : sides)
        if (const auto costs = side->call_costs())
          table_.print_call_costs(row.bytes, side->name(), *costs);
  }

  void run_rounds(const Sides& sides, Measurement& measured) {
    const ThreadTimes before = thread_times();
    std::vector<std::vector<double>> caller_ns(sides.size());
    tool::Progress progress(session_.is_root(), options_.rounds);
    for (int round = 0; round < options_.rounds; ++round) {
      for (std::size_t i = 0; i < sides.size(); ++i) {
        const TripTime trip = sides[i]->run_round(measured.trips);
        const double us = takes_slowest(options_, session_) ? slowest(trip.us) : trip.us;
        measured.figures[i].samples.push_back(shown(us, measured.row));
        caller_ns[i].push_back(trip.call_us * 1000 / requests_of(measured.row));
      }
      progress.advance(fmt::format("{} bytes", measured.row.bytes));
    }
    add_passed(measured_, before);
    const bool counts_requests = options_.kind == Kind::message_rate || options_.kind == Kind::halo;
    for (std::size_t i = 0; i < sides.size(); ++i)
      if (!options_.on_cuda() && counts_requests && caller_ns[i].front() > 0)
        measured.figures[i].caller_ns = tool::summarize(caller_ns[i]);
  }

  // How many requests a trip has, without the answers.
  double requests_of(const Row& row) const {
    return static_cast<double>(row.messages) * (is_exchange(options_.kind) ? 2 : 1);
  }

  // What a trip's time is turned into.
  double shown(double us, const Row& row) const {
    if (is_ping_pong(options_.kind)) return us / 2;
    if (is_exchange(options_.kind) || is_collective(options_.kind)) return us;
    if (options_.kind != Kind::message_rate) return static_cast<double>(row.moved) / us;
    return static_cast<double>(row.messages) * (session_.size() / 2) / us;
  }

  const Options& options_;
  const tool::Session& session_;
  const std::unique_ptr<Device> device_;
  const Table table_;
  bool is_first_ = true;
  std::set<std::string> refused_;  // algorithms
  ThreadTimes measured_;
};

}  // namespace

// A collective without messages is served by "self".
void require_transport(const Options& options, const std::string& transport) {
  if (transport == "self") return;
  if (options.transport.empty() || options.transport.find(transport) != std::string::npos) return;
  throw tool::UserError(fmt::format("--transport {} was asked for, but {} serves the pair",
                                    options.transport, transport));
}

int run_benchmark(const Options& options, const tool::Session& session) {
  require_possible(options, session);
  Program(options, session).run();
  return 0;
}

}  // namespace penstock::bench
