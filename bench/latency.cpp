// SPDX-License-Identifier: Apache-2.0
// penstock bench latency: ping-pong.
#include <algorithm>

#include "caller_cost.hpp"
#include "measurement.hpp"
#include "ping_pong.hpp"

namespace penstock::bench {
namespace {

constexpr int mpi_tag = 1;
constexpr int stream_tag = 2;

// At least 1000 are enqueued ahead; small messages need more for a time that can be measured.
Iterations iterations_for(const Options& options, std::size_t bytes) {
  const int timed = options.iterations > 0 ? options.iterations : bytes <= 8192 ? 10000 : 1000;
  return {std::max(1, timed / 10), timed};
}

void measure_size(const Options& options, int rank, std::size_t bytes, StreamEngine& stream_engine, Table& table,
                  bool first) {
  PingPong mpi_side(bytes, MemoryKind::malloc, options.mode, rank, mpi_tag);
  PingPong stream_side(bytes, options.memory, options.mode, rank, stream_tag);
  match(stream_side.requests);
  const std::string transport = stream_side.requests[0].transport();
  require_transport(options, transport);
  if (first) table.print_header(transport);

  MpiEngine mpi_engine;
  const Iterations iterations = iterations_for(options, bytes);
  Row row = measure(
      bytes, options.rounds, mpi_engine, mpi_side, stream_engine, stream_side,
      [&](auto& engine, PingPong& side) { return time_round(engine, side, iterations, options.order, options.check); });
  row.iterations = iterations.timed;
  if (options.check) {
    require_right(mpi_side.check_result, "MPI", bytes);
    require_right(stream_side.check_result, "Penstock", bytes);
  }
  table.print(row);
}

}  // namespace

int run_latency(const Options& options, const tool::Session& session) {
  require_two_ranks(session);
  StreamEngine stream_engine;
  Table table("latency", "us", options, session);
  bool first = true;
  for (const std::size_t bytes : message_sizes(options)) {
    measure_size(options, session.rank(), bytes, stream_engine, table, std::exchange(first, false));
  }
  print_caller_costs(options, session, table);
  return 0;
}

}  // namespace penstock::bench
