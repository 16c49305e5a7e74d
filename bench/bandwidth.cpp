// SPDX-License-Identifier: Apache-2.0
// penstock bench bw, multi-pair and message-rate: windows of messages, one way, between one or
// several pairs of ranks.
#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "bench_table.hpp"
#include "measurement.hpp"
#include "window.hpp"

namespace penstock::bench {
namespace {

// The tags of messages; those of the answers are the next ones.
constexpr int mpi_tag = 10;
constexpr int stream_tag = 12;
constexpr int nonblocking_tag = 14;

// A window's messages lie side by side: more than this would measure the memory and not the
// message.
constexpr std::size_t max_window_bytes = std::size_t{16} << 20;

// What a round's time is turned into.
enum class Result { bandwidth, message_rate };

int window_for(const Options& options, std::size_t bytes) {
  const std::size_t fitting =
      std::max<std::size_t>(1, max_window_bytes / std::max<std::size_t>(1, bytes));
  return static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(options.window), fitting));
}

// Enough messages, all enqueued ahead, for a round to last some milliseconds: shorter ones measure
// where the scheduler happened to put the threads.
int iterations_for(const Options& options, int window, std::size_t bytes) {
  if (options.iterations > 0) return options.iterations;
  constexpr std::size_t fewest = 1000, most = 100'000, volume = std::size_t{256} << 20;
  const std::size_t messages = std::clamp(volume / std::max<std::size_t>(1, bytes), fewest, most);
  return static_cast<int>(messages) / window + 1;
}

// The first half of the ranks sends to the second.
Pairing pairing_of(const tool::Session& session) {
  const int pairs = session.size() / 2;
  const bool sends = session.rank() < pairs;
  return {session.rank(), sends ? session.rank() + pairs : session.rank() - pairs, sends};
}

class WindowBenchmark {
 public:
  WindowBenchmark(const Options& options, const tool::Session& session, Table& table, Result result)
      : options_(options),
        pairing_(pairing_of(session)),
        pairs_(session.size() / 2),
        table_(table),
        result_(result) {}

  void measure_size(std::size_t bytes) {
    const int window = window_for(options_, bytes);
    const int iterations = iterations_for(options_, window, bytes);
    const double messages = static_cast<double>(window) * iterations;
    Window mpi_side(bytes, window, MemoryKind::malloc, options_.mode, pairing_, mpi_tag);
    Window plain_side(bytes, window, MemoryKind::malloc, options_.mode, pairing_, nonblocking_tag,
                      Calls::nonblocking);
    Window stream_side(bytes, window, options_.memory, options_.mode, pairing_, stream_tag);
    stream_side.match();
    print_header(RequestView(stream_side.answer.requests()[0]).transport());

    std::vector<double> caller_ns;
    const auto stream_round = [&] {
      const WindowTime time =
          time_round(stream_engine_, stream_side, iterations, options_.order, options_.check);
      caller_ns.push_back(time.call_us * 1000 / messages);
      return figure(time.us, bytes, messages);
    };
    const auto round = [&](auto& engine, Window& side) {
      return figure(time_round(engine, side, iterations, options_.order, options_.check).us, bytes,
                    messages);
    };
    std::vector<Contender> contenders{{"penstock", stream_round},
                                      {"mpi", [&] { return round(mpi_engine_, mpi_side); }}};
    if (!options_.baselines.empty())
      contenders.push_back({nonblocking, [&] { return round(nonblocking_engine_, plain_side); }});
    Measurement measurement{.bytes = bytes,
                            .messages = static_cast<std::size_t>(window),
                            .iterations = iterations * window,
                            .figures = measure(options_.rounds, contenders)};
    if (result_ == Result::message_rate) measurement.caller_ns = tool::summarize(caller_ns);
    if (options_.check && !pairing_.sends) {
      require_right(mpi_side.check_result, "MPI", bytes);
      require_right(stream_side.check_result, "Penstock", bytes);
      if (!options_.baselines.empty()) require_right(plain_side.check_result, nonblocking, bytes);
    }
    table_.print(measurement);
  }

 private:
  // Of all pairs together: millions of bytes, or of messages, a second.
  double figure(double us, std::size_t bytes, double messages) const {
    const double each = result_ == Result::bandwidth ? static_cast<double>(bytes) : 1.0;
    return each * messages * pairs_ / slowest(us);
  }

  void print_header(const std::string& transport) {
    require_transport(options_, transport);
    if (!std::exchange(header_printed_, true)) table_.print_header(transport, options_.baselines);
  }

  const Options& options_;
  const Pairing pairing_;
  const int pairs_;
  Table& table_;
  const Result result_;
  StreamEngine stream_engine_;
  MpiEngine mpi_engine_;
  NonblockingEngine nonblocking_engine_;
  bool header_printed_ = false;
};

int run_windows(const Options& given, const tool::Session& session, Table& table, Result result) {
  Options options = given;
  options.baselines = only_nonblocking(given, "with windows");
  WindowBenchmark benchmark(options, session, table, result);
  for (const std::size_t bytes : message_sizes(options)) benchmark.measure_size(bytes);
  return 0;
}

}  // namespace

int run_bandwidth(const Options& options, const tool::Session& session) {
  require_two_ranks(session);
  Table table("bandwidth", "MB/s", "one way, windowed", options, session);
  return run_windows(options, session, table, Result::bandwidth);
}

int run_multi_pair(const Options& options, const tool::Session& session) {
  require_even_ranks(session, "multi-pair");
  Table table("multi-pair", "MB/s",
              fmt::format("{} pair(s) at once, one way, windowed", session.size() / 2), options,
              session);
  return run_windows(options, session, table, Result::bandwidth);
}

int run_message_rate(const Options& options, const tool::Session& session) {
  require_even_ranks(session, "message-rate");
  Table table("message-rate", "M/s",
              fmt::format("millions of messages a second of {} pair(s), one way, {} at once",
                          session.size() / 2, options.window),
              options, session);
  return run_windows(options, session, table, Result::message_rate);
}

}  // namespace penstock::bench
