// SPDX-License-Identifier: Apache-2.0
// penstock bench bag: messages that are taken as they come, beside receives from MPI_ANY_SOURCE.
#include "bag.hpp"

#include <fmt/core.h>
#include <mpi.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "bag_side.hpp"
#include "json_line.hpp"
#include "round_length.hpp"
#include "round_options.hpp"
#include "rounds.hpp"
#include "run_delay.hpp"
#include "support/progress.hpp"
#include "support/statistics.hpp"

namespace penstock::bench {
namespace {

const std::vector<std::string> bag_parts{"latency", "rate", "pool"};

struct BagOptions {
  std::vector<std::string> parts = bag_parts;
  std::vector<std::size_t> sizes{8, 512, 4096, 65536};
  int slots = 8;
  double work_us = 10;
  int rounds = 7;
  int iterations = 0;  // 0: by size
  bool as_json = false;

  int messages_of(const BagTraffic& traffic) const {
    if (iterations > 0) return iterations;
    constexpr std::size_t moved = std::size_t{64} << 20;
    return static_cast<int>(std::clamp<std::size_t>(moved / traffic.bytes, 10, 2000));
  }
};

const std::string& word_of(BagTraffic::Shape shape) {
  return bag_parts[static_cast<std::size_t>(shape)];
}

struct BagTimes {
  std::string side;
  int messages = 0;  // of a round
  std::vector<double> us{};
};

class BagBench {
 public:
  BagBench(const BagOptions& options, const tool::Session& session)
      : options_(options), session_(session) {}

  // Rounds of the sides in turns.
  std::vector<BagTimes> measure(const BagTraffic& traffic) {
    std::vector<std::unique_ptr<BagSide>> sides;
    std::vector<BagTimes> all;
    for (const char* library : bag_libraries) {
      auto side = make_side(library, traffic);
      if (!side) continue;
      require_right_bytes(*side, traffic);
      all.push_back({side->name(), messages_of(*side, traffic)});
      sides.push_back(std::move(side));
    }
    const ThreadTimes before = thread_times();
    tool::Progress progress(session_.is_root(), options_.rounds);
    for (int round = 0; round < options_.rounds; ++round) {
      for (std::size_t i = 0; i < sides.size(); ++i)
        all[i].us.push_back(us_of_message(*sides[i], traffic, all[i].messages));
      progress.advance(word_of(traffic.shape));
    }
    add_passed(measured_, before);
    return all;
  }
  const ThreadTimes& measured() const { return measured_; }

 private:
  std::unique_ptr<BagSide> make_side(const std::string& library, const BagTraffic& traffic) {
    std::string why_not;
    auto side = make_bag_side(library, traffic, why_not);
    if (!side && session_.is_root() && !why_not.empty() && refused_.insert(library).second)
      fmt::print(stderr, "no row of {}: {}\n", library, why_not);
    return side;
  }
  int messages_of(BagSide& side, const BagTraffic& traffic) const {
    constexpr int few = 10;
    const int most = options_.messages_of(traffic);
    if (options_.iterations > 0) return most;
    return repetitions_of_round(slowest(side.run_round(few)) / few, most);
  }
  // Of rank 0, which takes all messages, or every other one.
  double us_of_message(BagSide& side, const BagTraffic& traffic, int messages) const {
    const double us = side.run_round(messages);
    const int others = traffic.shape == BagTraffic::Shape::latency ? 2 : traffic.ranks - 1;
    return slowest(session_.is_root() ? us / (static_cast<double>(messages) * others) : 0);
  }
  void require_right_bytes(BagSide& side, const BagTraffic& traffic) const {
    side.check(true);
    side.run_round(4 * traffic.slots);
    side.check(false);
    const double wrong = slowest(static_cast<double>(side.wrong()));
    if (wrong > 0)
      throw std::runtime_error(fmt::format("check failed: {}, messages of {} bytes: {} wrong bytes",
                                           side.name(), traffic.bytes, wrong));
  }

  const BagOptions& options_;
  const tool::Session& session_;
  ThreadTimes measured_;
  std::set<std::string> refused_;
};

void print_header(const BagOptions& options, const tool::Session& session) {
  fmt::print(
      "# bench bag, {} ranks, {} slots of a source, {}; every byte is checked before\n"
      "# latency: half a round trip of ranks 0 and 1; rate: a message, where all others send to "
      "rank 0;\n"
      "# pool: a result, where those take their ranks {} us on average, and rank 0 reads all of "
      "it;\n"
      "# medians of rounds, us; ratio: of the bag to it\n"
      "# part       bytes side                us      spread  ratio\n",
      session.size(), options.slots, session.mpi_name(), options.work_us);
}

void print_row(const BagOptions& options, const tool::Session& session, const BagTraffic& traffic,
               const BagTimes& side, double bag_us) {
  const auto us = tool::summarize(side.us);
  if (!options.as_json) {
    fmt::print("{:8} {:9} {:14} {:8.3f} {:>15} {:>6}\n", word_of(traffic.shape), traffic.bytes,
               side.side, us.median, tool::spread_text(us),
               bag_us > 0 ? fmt::format("{:.2f}", bag_us / us.median) : "");
    return;
  }
  fmt::print("{}\n", nlohmann::ordered_json{{"benchmark", "bag"},
                                            {"part", word_of(traffic.shape)},
                                            {"ranks", session.size()},
                                            {"bytes", traffic.bytes},
                                            {"slots", traffic.slots},
                                            {"side", side.side},
                                            {"unit", "us"},
                                            {"message", samples_to_json(us)},
                                            {"iterations", side.messages},
                                            {"library", session.mpi_name()},
                                            {"thread_level",
                                             tool::thread_level_name(session.thread_level())}}
                         .dump());
}

int run_bag(const BagOptions& options, const tool::Session& session) {
  if (session.size() < 2)
    throw tool::UserError(
        "bench bag needs at least 2 ranks: run it as mpiexec -n 4 penstock bench bag");
  if (session.is_root() && !options.as_json) print_header(options, session);
  BagBench bench(options, session);
  using Shape = BagTraffic::Shape;
  for (const auto shape : {Shape::latency, Shape::rate, Shape::pool})
    for (const std::size_t bytes : options.sizes) {
      if (std::ranges::find(options.parts, word_of(shape)) == options.parts.end()) continue;
      const BagTraffic traffic{shape,          bytes,          options.slots,
                               session.rank(), session.size(), options.work_us};
      const std::vector<BagTimes> sides = bench.measure(traffic);
      if (!session.is_root()) continue;
      double bag_us = 0;
      for (const BagTimes& side : sides) {
        print_row(options, session, traffic, side, bag_us);
        if (side.side == bag_libraries.front()) bag_us = tool::summarize(side.us).median;
      }
    }
  warn_of_run_delay(bench.measured(), session);
  return 0;
}

}  // namespace

void add_bag(CLI::App& bench, tool::Command& command) {
  const auto options = std::make_shared<BagOptions>();
  CLI::App* const app = bench.add_subcommand(
      "bag",
      "Messages that their receiver takes as they come, from several ranks, beside MPI_ANY_SOURCE");
  app->add_option(
         "--parts", options->parts,
         "What is measured, with commas: latency (ranks 0 and 1 in turn), rate (all others "
         "send to rank 0), pool (the same of results, which take time)")
      ->delimiter(',')
      ->check(CLI::IsMember(bag_parts))
      ->capture_default_str();
  app->add_option("--work", options->work_us, "pool: us that a result takes its rank, on average")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  app->add_option("--sizes", options->sizes, "Bytes of a message, with commas")
      ->delimiter(',')
      ->check(size_of_message(1))
      ->capture_default_str();
  app->add_option("--slots", options->slots, "How many messages of a source are under way")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app->add_option("--rounds", options->rounds, "Rounds of each side, in turns")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app->add_option(
         "--iterations", options->iterations,
         "Messages of each source in a round (default: by size and how long they take, 10 to "
         "2000)")
      ->check(CLI::Range(1, 10'000'000));
  app->add_flag("--json", options->as_json,
                "Print JSON, a line for each row: the lines together are not one JSON text");
  tool::add_run_options(*app, command);
  app->callback([options, &command] {
    command.run = [options](const tool::Session& session) { return run_bag(*options, session); };
  });
}

}  // namespace penstock::bench
