// SPDX-License-Identifier: Apache-2.0
// penstock bench pairs: what a message, a match and memory cost by the number of pairs that a rank
// has.
#include "pairs.hpp"

#include <fmt/core.h>
#include <mpi.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <penstock/penstock.hpp>
#include <string>
#include <vector>

#include "json_line.hpp"
#include "pattern.hpp"
#include "round_options.hpp"
#include "rounds.hpp"
#include "run_delay.hpp"
#include "support/clock.hpp"
#include "support/progress.hpp"
#include "support/statistics.hpp"
#include "support/stream_clock.hpp"

namespace penstock::bench {
namespace {

struct PairsOptions {
  std::vector<std::size_t> pairs{100, 1000, 10000};
  std::size_t bytes = 8;
  int rounds = 5;
  int iterations = 1000;
  bool as_json = false;
};

// Of this process in bytes: what it alone uses, and what lies in memory that others map.
struct Resident {
  double own = 0, shared = 0;
};
Resident resident() {
  std::ifstream status("/proc/self/status");
  Resident found;
  for (std::string word; status >> word;) {
    double kilobytes = 0;
    if (word == "RssAnon:" && status >> kilobytes) found.own = kilobytes * 1024;
    if (word == "RssShmem:" && status >> kilobytes) found.shared = kilobytes * 1024;
  }
  return found;
}

double time_us(const std::function<void()>& step) {
  const double begin = tool::now_us();
  step();
  return tool::now_us() - begin;
}

// As many pairs from rank 0 to rank 1 as back, each with a tag of its own, or with one more that
// way. Requests: this rank's sends, then its receives.
class ManyPairs {
 public:
  ManyPairs(std::size_t pairs, std::size_t bytes, int rank)
      : sends_((pairs + (rank == 0 ? 1 : 0)) / 2),
        bytes_(bytes),
        rank_(rank),
        memory_(pairs * bytes) {
    for (std::size_t i = 0; i < pairs; ++i) {
      const bool sends = i < sends_;
      const int tag = static_cast<int>(sends ? i : i - sends_);
      requests_.add(sends ? send_init(part(i), 1 - rank, tag, MPI_COMM_WORLD)
                          : recv_init(part(i), 1 - rank, tag, MPI_COMM_WORLD));
    }
  }
  void match_all() { match(requests_); }
  std::string transport() const { return requests_[0].transport(); }
  RequestView first_send() { return requests_[0]; }
  RequestView first_receive() { return requests_[sends_]; }
  std::span<MPI_Request> all() { return requests_.all(); }

  // The number of messages depends on the rank, if one way has one pair more.
  void fill(std::uint64_t step) {
    for (std::size_t i = 0; i < sends_; ++i) fill_pattern(part(i), writer(rank_, i), step);
  }
  std::size_t count_wrong(std::uint64_t step) {
    std::size_t wrong = 0;
    for (std::size_t i = sends_; i < requests_.size(); ++i)
      wrong += bench::count_wrong(part(i), writer(1 - rank_, i - sends_), step);
    return wrong;
  }

 private:
  static std::uint64_t writer(int rank, std::size_t pair) {
    return static_cast<std::uint64_t>(rank) << 32 | pair;
  }
  std::span<std::byte> part(std::size_t index) {
    return memory_.all().subspan(index * bytes_, bytes_);
  }

  const std::size_t sends_, bytes_;
  const int rank_;
  Buffer<std::byte> memory_;
  Requests requests_;
};

// Of so many pairs: the times of rounds, and what was measured once.
struct PairTimes {
  std::size_t pairs;
  std::string transport{};
  double match_us = 0, free_us = 0;  // of one pair, on the slowest rank
  Resident memory{};                 // of one pair, at most of a rank
  std::vector<double> one_us{};      // half a round trip, the others idle
  std::vector<double> each_us{};     // of a message, in a step of all pairs
};

class PairsBench {
 public:
  PairsBench(const PairsOptions& options, const tool::Session& session)
      : options_(options), rank_(session.rank()) {}

  PairTimes measure(std::size_t count) {
    PairTimes times{count};
    const Resident before = resident();
    auto pairs = std::make_unique<ManyPairs>(count, options_.bytes, rank_);
    const double per = static_cast<double>(count);
    times.match_us = slowest(time_us([&] { pairs->match_all(); })) / per;
    require_right_bytes(*pairs);
    times.transport = pairs->transport();
    tool::Progress progress(rank_ == 0, options_.rounds);
    for (int round = 0; round < options_.rounds; ++round) {
      times.one_us.push_back(time_one(*pairs));
      times.each_us.push_back(time_all(*pairs) / per);
      progress.advance(fmt::format("{} pairs", count));
    }
    const Resident after = resident();
    times.memory.own = slowest(after.own - before.own) / per;
    times.memory.shared = slowest(after.shared - before.shared) / per;
    times.free_us = slowest(time_us([&] { pairs.reset(); })) / per;
    return times;
  }

 private:
  // Half a round trip of one pair each way.
  double time_one(ManyPairs& pairs) {
    const int trips = options_.iterations;
    return time_stream(trips,
                       [&] {
                         if (rank_ == 0) queue_.run(pairs.first_send());
                         queue_.run(pairs.first_receive());
                         if (rank_ != 0) queue_.run(pairs.first_send());
                       }) /
           (2.0 * trips);
  }

  // A step in which all pairs have a message.
  double time_all(ManyPairs& pairs) {
    const std::size_t count = pairs.all().size();
    const int steps = static_cast<int>(
        std::clamp<std::size_t>(static_cast<std::size_t>(options_.iterations) / count, 3, 100));
    return time_stream(steps, [&] { queue_.run(pairs.all()); }) / steps;
  }

  // Of the slowest rank, from when both have enqueued all; the first step is not counted.
  double time_stream(int steps, const std::function<void()>& enqueue_step) {
    tool::Gate gate;
    tool::Stamp begin, end;
    gate.enqueue(stream_);
    enqueue_step();
    begin.enqueue(stream_);
    for (int i = 0; i < steps; ++i) enqueue_step();
    end.enqueue(stream_);
    MPI_Barrier(MPI_COMM_WORLD);
    gate.open();
    queue_.synchronize();
    return slowest(end.us() - begin.us());
  }

  void require_right_bytes(ManyPairs& pairs) {
    for (std::uint64_t step = 1; step <= 2; ++step) {
      pairs.fill(step);
      queue_.run(pairs.all());
      queue_.synchronize();
      if (const std::size_t wrong = pairs.count_wrong(step); wrong != 0)
        throw std::runtime_error(fmt::format("check failed: {} wrong bytes in messages of {} bytes",
                                             wrong, options_.bytes));
    }
  }

  const PairsOptions& options_;
  const int rank_;
  Stream stream_;
  Queue queue_{stream_};
};

void print_row(const PairsOptions& options, const tool::Session& session, const PairTimes& times) {
  const auto one = tool::summarize(times.one_us), each = tool::summarize(times.each_us);
  if (!options.as_json) {
    fmt::print("{:8} {:10} {:8.3f} {:>15} {:9.3f} {:>15} {:8.2f} {:8.2f} {:9.0f} {:9.0f}\n",
               times.pairs, times.transport, one.median, tool::spread_text(one), each.median,
               tool::spread_text(each), times.match_us, times.free_us, times.memory.own,
               times.memory.shared);
    return;
  }
  fmt::print("{}\n", nlohmann::ordered_json{{"benchmark", "pairs"},
                                            {"pairs", times.pairs},
                                            {"bytes", options.bytes},
                                            {"transport", times.transport},
                                            {"unit", "us"},
                                            {"one", samples_to_json(one)},
                                            {"each", samples_to_json(each)},
                                            {"match", times.match_us},
                                            {"free", times.free_us},
                                            {"own_bytes", times.memory.own},
                                            {"shared_bytes", times.memory.shared},
                                            {"library", session.mpi_name()}}
                         .dump());
}

int run_pairs(const PairsOptions& options, const tool::Session& session) {
  if (session.size() != 2)
    throw tool::UserError(fmt::format(
        "bench pairs needs exactly 2 ranks and has {}: run it as mpiexec -n 2 penstock bench pairs",
        session.size()));
  if (session.is_root() && !options.as_json)
    fmt::print(
        "# bench pairs, messages of {} bytes, {}; medians of rounds, us\n"
        "# one: half a round trip, the other pairs idle; each: of a message in a step of all; "
        "match,"
        " free and bytes of\n# memory: of a pair on a rank, with its request and buffer\n"
        "#  pairs transport       one          spread      each          spread    match     free "
        " own bytes shared\n",
        options.bytes, session.mpi_name());
  PairsBench bench(options, session);
  ThreadTimes measured;
  const ThreadTimes before = thread_times();
  for (const std::size_t pairs : options.pairs) {
    const PairTimes times = bench.measure(pairs);
    if (session.is_root()) print_row(options, session, times);
  }
  add_passed(measured, before);
  warn_of_run_delay(measured, session);
  return 0;
}

}  // namespace

void add_pairs(CLI::App& bench, tool::Command& command) {
  const auto options = std::make_shared<PairsOptions>();
  CLI::App* const app = bench.add_subcommand(
      "pairs", "What a message, a match and memory cost by the number of pairs of a rank");
  app->add_option("--pairs", options->pairs, "How many pairs of either rank, with commas")
      ->delimiter(',')
      ->check(CLI::Range(2, 1'000'000))
      ->capture_default_str();
  app->add_option("--bytes", options->bytes, "Bytes of a message")
      ->check(size_of_message(1))
      ->capture_default_str();
  app->add_option("--rounds", options->rounds, "Rounds of each measurement")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  app->add_option("--iterations", options->iterations, "Round trips of a round")
      ->check(CLI::Range(1, 10'000'000))
      ->capture_default_str();
  app->add_flag("--json", options->as_json,
                "Print JSON, a line for each row: the lines together are not one JSON text");
  tool::add_run_options(*app, command);
  app->callback([options, &command] {
    command.run = [options](const tool::Session& session) { return run_pairs(*options, session); };
  });
}

}  // namespace penstock::bench
