// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <penstock/penstock.hpp>
#include <string>
#include <vector>

#include "layout.hpp"
#include "support/session.hpp"

namespace penstock::bench {

enum class Kind {
  latency,
  bandwidth,
  multi_pair,
  message_rate,
  halo,
  exchange,
  rma,
  allreduce,
  reduce_scatter,
  allgather,
  alltoall,
  alltoallv,
  bcast,
  reduce,
  barrier
};

// What the command line, the tables and the JSON lines say of a kind of benchmark.
struct Benchmark {
  Kind kind;
  const char* command;
  const char* name;
  const char* unit;
  const char* meaning;  // of a figure
  const char* text;     // for --help
};
inline constexpr std::array benchmarks{
    Benchmark{Kind::latency, "latency", "latency", "us", "half round trip",
              "Ping-pong: half round trip, and what the calls cost"},
    Benchmark{Kind::bandwidth, "bw", "bandwidth", "MB/s", "one way, windowed",
              "Windowed one-way bandwidth of 2 ranks"},
    Benchmark{Kind::multi_pair, "multi-pair", "multi-pair", "MB/s",
              "of all pairs together, one way, windowed",
              "The same of several pairs of ranks at once"},
    Benchmark{Kind::message_rate, "message-rate", "message-rate", "M/s",
              "millions of messages a second of all pairs together, one way, windowed",
              "Small messages a second, a window in one start "
              "and one wait, and what one costs the caller"},
    Benchmark{Kind::halo, "halo", "halo", "us", "a step; MB/s: sent by all ranks",
              "Steps of an exchange with the 26 neighbours of a periodic 3D grid of ranks: faces, "
              "edges and corners, in one start and one wait"},
    Benchmark{Kind::exchange, "exchange", "exchange", "us", "an exchange; MB/s: sent by all ranks",
              "CUDA: every rank sends and receives at once, in one start and one wait: the 26 "
              "messages of a halo, or with --sizes one of each size in turn"},
    Benchmark{Kind::rma, "rma", "rma", "us", "half round trip by puts",
              "Ping-pong by puts: Penstock's one-sided epochs, call by call and in batches, its "
              "messages, and MPI's epochs; and what a put and a window cost"},
    Benchmark{Kind::allreduce, "allreduce", "allreduce", "us", "of the bytes that a rank has",
              "Sums over all ranks, on all of them, of as many bytes of doubles a rank"},
    Benchmark{Kind::reduce_scatter, "reduce-scatter", "reduce-scatter", "us",
              "of the bytes that a rank keeps",
              "Sums over all ranks, of which each keeps a block of as many bytes of doubles"},
    Benchmark{Kind::allgather, "allgather", "allgather", "us", "of the bytes that a rank has",
              "As many bytes of each rank, to all of them"},
    Benchmark{Kind::alltoall, "alltoall", "alltoall", "us", "of the bytes from a rank to a rank",
              "As many bytes from each rank to each one"},
    Benchmark{Kind::alltoallv, "alltoallv", "alltoallv", "us",
              "of half, once and one and a half times the bytes from a rank to a rank",
              "Half as many bytes, as many, or one and a half times as many from each rank to each "
              "one"},
    Benchmark{Kind::bcast, "bcast", "bcast", "us", "of the bytes of rank 0",
              "As many bytes of rank 0, to all ranks"},
    Benchmark{Kind::reduce, "reduce", "reduce", "us", "of the bytes that a rank has",
              "Sums over all ranks, on rank 0, of as many bytes of doubles a rank"},
    Benchmark{Kind::barrier, "barrier", "barrier", "us", "without bytes",
              "Ranks that wait for each other on their streams"}};
inline const Benchmark& about(Kind kind) {
  return benchmarks[static_cast<std::size_t>(kind)];
}

inline bool is_exchange(Kind kind) {
  return kind == Kind::halo || kind == Kind::exchange;
}
inline bool is_ping_pong(Kind kind) {
  return kind == Kind::latency || kind == Kind::rma;
}
inline bool is_collective(Kind kind) {
  return kind >= Kind::allreduce;
}
inline bool is_windowed(Kind kind) {
  return !is_ping_pong(kind) && !is_exchange(kind) && !is_collective(kind);
}
// Collectives that combine numbers: the others move bytes.
inline bool is_reduction(Kind kind) {
  return kind == Kind::allreduce || kind == Kind::reduce_scatter || kind == Kind::reduce;
}

enum class MemoryKind { alloc, malloc };

// Whether a receive is started right before its wait, or one iteration ahead, before the message
// that lets the peer send. Ready sends need the latter. run: as the latter, by calls that start and
// wait at once. inside: by one kernel of the program's for all trips.
enum class Order { sequential, preposted, run, inside };

enum class DeviceKind { host, cuda };

// Who exchanges with whom.
enum class Pairs { neighbours, all };

struct Options {
  Kind kind = Kind::latency;
  DeviceKind device = DeviceKind::host;
  std::size_t min_bytes = 8;
  std::size_t max_bytes = std::size_t{1} << 20;
  std::vector<std::size_t> sizes;  // instead of min to max
  int rounds = 9;
  int iterations = 0;  // 0: by size
  int window = 64;
  MemoryKind memory = MemoryKind::alloc;
  Mode mode = Mode::standard;
  Order order = Order::sequential;
  Layout layout;  // of messages
  bool check = false;
  bool as_json = false;
  std::vector<std::string> baselines;
  std::vector<std::string> algorithms;  // collectives: a row for each; none: the library chooses
  std::vector<std::size_t> halo{64};    // halo, exchange without sizes: edges of cubes of doubles
  // CUDA only.
  bool graph = false;               // the program is captured once, and its graph launched
  bool pack = false;                // a kernel before each send and one behind each receive
  Pairs pairs = Pairs::neighbours;  // exchange
  std::string transport;

  bool on_cuda() const { return device == DeviceKind::cuda; }
};

// The sizes asked for, or min, then powers of two up to max; of these the multiples of a row.
std::vector<std::size_t> message_sizes(const Options& options);

const char* name_of(MemoryKind kind) noexcept;
const char* name_of(Mode mode) noexcept;
const char* name_of(Order order) noexcept;

// Runs the benchmark that the options choose and prints its rows. Collective.
int run_benchmark(const Options& options, const tool::Session& session);

}  // namespace penstock::bench
