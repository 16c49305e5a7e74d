// SPDX-License-Identifier: Apache-2.0
// penstock bench bw: windowed bandwidth.
#include <algorithm>

#include "measurement.hpp"
#include "window.hpp"

namespace penstock::bench {
namespace {

// The tags of messages; that of the answers is the next one.
constexpr int mpi_tag = 10;
constexpr int stream_tag = 12;

// A window's messages lie side by side: more than this would measure the memory and not the message.
constexpr std::size_t max_window_bytes = std::size_t{16} << 20;

int window_for(const Options& options, std::size_t bytes) {
  const std::size_t fitting = std::max<std::size_t>(1, max_window_bytes / std::max<std::size_t>(1, bytes));
  return static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(options.window), fitting));
}

// Enough messages, all enqueued ahead, for a round to last some milliseconds: shorter ones measure where the scheduler
// happened to put the threads.
int iterations_for(const Options& options, int window, std::size_t bytes) {
  if (options.iterations > 0) return options.iterations;
  constexpr std::size_t fewest = 1000, most = 100'000, volume = std::size_t{256} << 20;
  const std::size_t messages = std::clamp(volume / std::max<std::size_t>(1, bytes), fewest, most);
  return static_cast<int>(messages) / window + 1;
}

void measure_size(const Options& options, int rank, std::size_t bytes, StreamEngine& stream_engine, Table& table,
                  bool first) {
  const int window = window_for(options, bytes);
  const int iterations = iterations_for(options, window, bytes);
  Window mpi_side(bytes, window, MemoryKind::malloc, options.mode, rank, mpi_tag);
  Window stream_side(bytes, window, options.memory, options.mode, rank, stream_tag);
  match(stream_side.requests);
  const std::string transport = stream_side.requests[0].transport();
  require_transport(options, transport);
  if (first) table.print_header(transport);

  MpiEngine mpi_engine;
  Row row = measure(
      bytes, options.rounds, mpi_engine, mpi_side, stream_engine, stream_side,
      [&](auto& engine, Window& side) { return time_round(engine, side, iterations, options.order, options.check); });
  row.iterations = iterations * window;
  if (options.check && rank == 1) {
    require_right(mpi_side.check_result, "MPI", bytes);
    require_right(stream_side.check_result, "Penstock", bytes);
  }
  table.print(row);
}

}  // namespace

int run_bandwidth(const Options& options, const tool::Session& session) {
  require_two_ranks(session);
  if (!options.baselines.empty()) throw tool::UserError("bench bw has no baselines on host streams");
  StreamEngine stream_engine;
  Table table("bandwidth", "MB/s", options, session);
  bool first = true;
  for (const std::size_t bytes : message_sizes(options)) {
    measure_size(options, session.rank(), bytes, stream_engine, table, std::exchange(first, false));
  }
  return 0;
}

}  // namespace penstock::bench
