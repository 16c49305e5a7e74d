// SPDX-License-Identifier: Apache-2.0
// penstock bench channel: what the units of a channel cost, beside pairs and MPI's persistent and
// partitioned requests.
#include "channel.hpp"

#include <fmt/core.h>
#include <mpi.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "channel_side.hpp"
#include "json_line.hpp"
#include "round_length.hpp"
#include "round_options.hpp"
#include "rounds.hpp"
#include "run_delay.hpp"
#include "support/progress.hpp"
#include "support/statistics.hpp"

namespace penstock::bench {
namespace {

const std::vector<std::string> all_parts{"latency", "units", "grids", "release", "threads"};

struct ChannelOptions {
  std::vector<std::string> parts = all_parts;
  std::vector<std::size_t> sizes{8, 512, 4096, 65536};
  std::vector<std::size_t> units{1, 16, 64, 256, 1024, 4096};
  std::size_t bytes = std::size_t{1} << 20;
  std::vector<std::size_t> threads{1, 2, 4, 8, 16};
  int rounds = 7;
  int iterations = 0;  // 0: by what moves
  bool as_json = false;

  bool has(const char* part) const {
    return std::find(parts.begin(), parts.end(), part) != parts.end();
  }
  // A round moves about as much, and makes about as many messages, in every row.
  int trips_of(const UnitTraffic& traffic) const {
    if (iterations > 0) return iterations;
    constexpr std::size_t moved = std::size_t{64} << 20, messages = 20000;
    return static_cast<int>(std::clamp<std::size_t>(
        std::min(moved / traffic.all_bytes(), messages / traffic.all_units()), 10, 2000));
  }
};

struct ChannelRow {
  std::string part;
  UnitTraffic traffic;
  bool releases = false;
};

// A grid of 12 units, of 4 KiB each: whose ranges agree on both ends, and of which they do not.
constexpr std::size_t grid_bytes = std::size_t{12} * 4096;
constexpr UnitTraffic agreeing{grid_bytes, 12, 4, 4}, different{grid_bytes, 12, 4, 3};

std::vector<ChannelRow> rows_of(const ChannelOptions& options) {
  std::vector<ChannelRow> rows;
  if (options.has("latency"))
    for (const std::size_t bytes : options.sizes) rows.push_back({"latency", {bytes}});
  if (options.has("units"))
    for (const std::size_t units : options.units) rows.push_back({"units", {options.bytes, units}});
  if (options.has("grids"))
    for (const UnitTraffic& traffic : {agreeing, different}) rows.push_back({"grids", traffic});
  if (options.has("release"))
    for (const std::size_t units : {1, 16})
      rows.push_back({"release", {units * 4096, units}, /*releases=*/true});
  if (options.has("threads"))
    for (const std::size_t threads : options.threads)
      rows.push_back({"threads", {4096, 1, 1, 1, threads}});
  return rows;
}

struct Measured {
  std::string side, transport;
  int trips = 0;  // of a round
  std::vector<double> half_us{}, release_us{};
};

class ChannelBench {
 public:
  ChannelBench(const ChannelOptions& options, const tool::Session& session)
      : options_(options), session_(session) {}

  // Rounds of the sides in turns.
  std::vector<Measured> measure(const ChannelRow& row) {
    std::vector<std::unique_ptr<ChannelSide>> sides;
    std::vector<Measured> all;
    for (const char* library : channel_libraries) {
      auto side = make_side(library, row);
      if (!side) continue;
      require_right_bytes(*side, row.traffic);
      all.push_back({side->name(), side->transport(), trips_of(*side, row)});
      sides.push_back(std::move(side));
    }
    const ThreadTimes before = thread_times();
    tool::Progress progress(session_.is_root(), options_.rounds);
    for (int round = 0; round < options_.rounds; ++round) {
      for (std::size_t i = 0; i < sides.size(); ++i) {
        const TripTimes times = sides[i]->run_round(all[i].trips, row.releases);
        all[i].half_us.push_back(slowest(times.half_us));
        all[i].release_us.push_back(slowest(times.release_us));
      }
      progress.advance(row.part);
    }
    add_passed(measured_, before);
    return all;
  }
  const ThreadTimes& measured() const { return measured_; }

 private:
  int trips_of(ChannelSide& side, const ChannelRow& row) const {
    const int most = options_.trips_of(row.traffic);
    if (options_.iterations > 0) return most;
    return repetitions_of_round(2 * slowest(side.run_round(4, false).half_us), most);
  }
  // Why a library has no row is said once.
  std::unique_ptr<ChannelSide> make_side(const std::string& library, const ChannelRow& row) {
    std::string why_not;
    auto side = make_channel_side(library, row.traffic, session_.rank(), why_not);
    if (!side && session_.is_root() && refused_.insert(library + why_not).second)
      fmt::print(stderr, "no row of {} for {} units of {} threads: {}\n", library,
                 row.traffic.units, row.traffic.threads, why_not);
    return side;
  }
  static void require_right_bytes(ChannelSide& side, const UnitTraffic& traffic) {
    for (std::uint64_t step = 1; step <= 2; ++step) {
      side.fill(step);
      side.run_round(1, false);
      if (const std::size_t wrong = side.count_wrong(step); wrong != 0)
        throw std::runtime_error(
            fmt::format("check failed: {}, {} units of {} bytes: {} wrong bytes", side.name(),
                        traffic.all_units(), traffic.unit_bytes(), wrong));
    }
  }

  const ChannelOptions& options_;
  const tool::Session& session_;
  ThreadTimes measured_;
  std::set<std::string> refused_;
};

void print_header(const tool::Session& session) {
  fmt::print(
      "# bench channel, {}; every byte is checked before\n"
      "# half a round trip of all units and threads, and what a receiver's releases take in it "
      "(asked for in rows of release);\n# medians of rounds, us; ratio: to the channel, above 1 "
      "where that is slower\n"
      "# part       bytes  units  puts  takes threads side             half round trip      spread "
      " "
      "ratio  releases\n",
      session.mpi_name());
}

void print_row(const ChannelRow& row, const Measured& side, double channel_us) {
  const auto half = tool::summarize(side.half_us);
  const UnitTraffic& of = row.traffic;
  fmt::print("{:8} {:9} {:6} {:5} {:6} {:7} {:16} {:15.3f} {:>15} {:>6} {:>9}\n", row.part,
             of.bytes, of.units, of.puts, of.takes, of.threads, side.side, half.median,
             tool::spread_text(half),
             channel_us > 0 ? fmt::format("{:.2f}", channel_us / half.median) : "",
             row.releases ? fmt::format("{:.3f}", tool::summarize(side.release_us).median) : "");
}

void print_line(const tool::Session& session, const ChannelRow& row, const Measured& side) {
  const UnitTraffic& of = row.traffic;
  nlohmann::ordered_json line{
      {"benchmark", "channel"}, {"part", row.part},
      {"bytes", of.bytes},      {"units", of.units},
      {"puts", of.puts},        {"takes", of.takes},
      {"threads", of.threads},  {"side", side.side},
      {"unit", "us"},           {"half", samples_to_json(tool::summarize(side.half_us))}};
  if (row.releases) line["release"] = samples_to_json(tool::summarize(side.release_us));
  if (!side.transport.empty()) line["transport"] = side.transport;
  line["iterations"] = side.trips;
  line["library"] = session.mpi_name();
  line["thread_level"] = tool::thread_level_name(session.thread_level());
  fmt::print("{}\n", line.dump());
}

void print_all(const ChannelOptions& options, const tool::Session& session, const ChannelRow& row,
               const std::vector<Measured>& sides) {
  double channel_us = 0;
  for (const Measured& side : sides) {
    if (options.as_json) {
      print_line(session, row, side);
      continue;
    }
    print_row(row, side, channel_us);
    if (side.side == channel_libraries.front()) channel_us = tool::summarize(side.half_us).median;
  }
}

int run_channel(const ChannelOptions& options, const tool::Session& session) {
  if (session.size() != 2)
    throw tool::UserError(
        fmt::format("bench channel needs exactly 2 ranks and has {}: run it as mpiexec -n 2 "
                    "penstock bench channel",
                    session.size()));
  if (session.is_root() && !options.as_json) print_header(session);
  ChannelBench bench(options, session);
  const std::vector<ChannelRow> rows = rows_of(options);
  for (const ChannelRow& row : rows) {
    const std::vector<Measured> sides = bench.measure(row);
    if (session.is_root()) print_all(options, session, row, sides);
  }
  warn_of_run_delay(bench.measured(), session);
  return 0;
}

void settle(const ChannelOptions& options) {
  for (const std::size_t units : options.units)
    if (options.bytes % units != 0)
      throw CLI::ValidationError("--units", fmt::format("{} bytes are not divided into {} units of "
                                                        "one length",
                                                        options.bytes, units));
}

}  // namespace

void add_channel(CLI::App& bench, tool::Command& command) {
  const auto options = std::make_shared<ChannelOptions>();
  CLI::App* const app = bench.add_subcommand(
      "channel",
      "Units of a channel, beside pairs and MPI's persistent and partitioned requests: one, many "
      "in a call, ranges that differ on the two ends, releases, threads");
  app->add_option("--parts", options->parts,
                  "What is measured, with commas: latency (one unit), units (as many in one call), "
                  "grids (12 units, in 4 calls and in 3), release, threads (a unit each)")
      ->delimiter(',')
      ->check(CLI::IsMember(all_parts))
      ->capture_default_str();
  app->add_option("--sizes", options->sizes, "latency: bytes of the unit, with commas")
      ->delimiter(',')
      ->check(size_of_message(1))
      ->capture_default_str();
  app->add_option("--bytes", options->bytes, "units: bytes of all together")
      ->check(size_of_message(1))
      ->capture_default_str();
  app->add_option("--units", options->units, "units: into how many they are divided, with commas")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 14))
      ->capture_default_str();
  app->add_option("--threads", options->threads, "threads: how many of a rank, with commas")
      ->delimiter(',')
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app->add_option("--rounds", options->rounds, "Rounds of each side, in turns")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app->add_option("--iterations", options->iterations,
                  "Round trips of a round (default: by what moves and how long that takes, 10 to "
                  "2000)")
      ->check(CLI::Range(1, 10'000'000));
  app->add_flag("--json", options->as_json,
                "Print JSON, a line for each row: the lines together are not one JSON text");
  tool::add_run_options(*app, command);
  app->callback([options, &command] {
    settle(*options);
    command.run = [options](const tool::Session& session) {
      return run_channel(*options, session);
    };
  });
}

}  // namespace penstock::bench
