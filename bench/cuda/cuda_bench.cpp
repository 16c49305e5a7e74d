// SPDX-License-Identifier: Apache-2.0
// penstock bench latency|bw|multi-pair|message-rate|exchange|halo --device cuda: the same program
// by each library in turn, on one stream of each rank.
#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "cuda_table.hpp"
#include "measurement.hpp"
#include "run_delay.hpp"

namespace penstock::bench {
namespace {

int trips_for(const Options& options, std::size_t bytes) {
  if (options.iterations > 0) return options.iterations;
  if (bytes <= 65536) return 1000;
  if (bytes <= std::size_t{1} << 20) return 400;
  return bytes <= std::size_t{16} << 20 ? 100 : 20;
}

std::unique_ptr<Exchange> make_baseline(const std::string& name, const Traffic& traffic,
                                        std::string& why_not) {
  if (name == "nccl") return make_nccl_exchange(traffic, why_not);
  if (name == "mpi") return make_mpi_exchange(traffic, why_not);
  return make_nvshmem_exchange(traffic, name == "nvshmem-add", why_not);
}

Sides make_sides(const Options& options, const Traffic& traffic, bool is_first) {
  Sides sides;
  const auto add = [&](const std::string& name, std::unique_ptr<Exchange> exchange) {
    sides.push_back(std::make_unique<Side>(name, std::move(exchange), traffic, options));
  };
  add("penstock", make_penstock_exchange(traffic, options));
  for (const std::string& baseline : options.baselines) {
    std::string why_not;
    if (auto exchange = make_baseline(baseline, traffic, why_not))
      add(baseline, std::move(exchange));
    else if (is_first && traffic.rank == 0)
      fmt::print(stderr, "no baseline {}: {}\n", baseline, why_not);
  }
  return sides;
}

void choose_device(int rank) {
  int devices = 0;
  if (const cudaError_t code = cudaGetDeviceCount(&devices); code != cudaSuccess || devices == 0)
    throw tool::UserError(fmt::format("--device cuda needs a GPU: {}", cudaGetErrorString(code)));
  CHECK_CUDA(cudaSetDevice(rank % devices));
}

// One row of the table.
void measure(const Options& options, Traffic traffic, Outcome outcome, const CudaTable& table,
             bool is_first) {
  const CudaStream stream;
  traffic.stream = stream.get();
  traffic.order = options.order;
  traffic.graph = options.graph;
  const Sides sides = make_sides(options, traffic, is_first);
  outcome.transport = sides.front()->transport();
  if (is_first) table.print_header(sides);
  {
    const MeasuredTime time;
    for (int round = 0; round < options.rounds; ++round)
      for (const auto& side : sides) side->run_round(outcome.trips);
  }
  for (const auto& side : sides) side->require_right(outcome.bytes);
  table.print(outcome, sides);
  if (!is_first) return;
  for (const auto& side : sides)
    if (const auto costs = side->enqueue_costs())
      table.print_costs(outcome.bytes, side->name(), *costs);
}

int run_pairs(const Options& options, const tool::Session& session, CudaTable::Kind kind,
              int window) {
  choose_device(session.rank());
  const CudaTable table(kind, options, session);
  bool is_first = true;
  for (const std::size_t bytes : message_sizes(options)) {
    const Traffic traffic =
        there_and_back(session.rank(), session.size(), bytes, window, window == 1 ? bytes : 8);
    const std::size_t moved = bytes * static_cast<std::size_t>(window);
    const int trips = std::max(trips_for(options, moved) / (window > 1 ? 4 : 1), 2);
    measure(options, traffic,
            {.bytes = bytes,
             .moved = static_cast<double>(moved) * (session.size() / 2),
             .messages = static_cast<std::size_t>(window),
             .trips = trips},
            table, std::exchange(is_first, false));
  }
  close_nvshmem();
  return 0;
}

int run_pair(const Options& options, const tool::Session& session, CudaTable::Kind kind,
             int window) {
  require_two_ranks(session);
  return run_pairs(options, session, kind, window);
}

std::vector<int> partners_of(const Options& options, const tool::Session& session) {
  if (options.pairs == Pairs::neighbours) return {session.rank() ^ 1};
  std::vector<int> partners;
  for (int rank = 0; rank < session.size(); ++rank)
    if (rank != session.rank()) partners.push_back(rank);
  return partners;
}

// What is exchanged with each partner in one row of the table.
std::vector<std::vector<std::size_t>> exchanges(const Options& options) {
  std::vector<std::vector<std::size_t>> rows;
  for (const std::size_t bytes : options.sizes) rows.push_back({bytes});
  if (rows.empty())
    for (const std::size_t edge : options.halo) rows.push_back(halo_sizes(edge));
  return rows;
}

void describe_halos(const Options& options, const CudaTable& table) {
  if (!options.sizes.empty()) return;
  for (const std::size_t edge : options.halo)
    table.print_note(fmt::format(
        "halo of {0}^3 doubles: 26 messages to each partner: 6 of {1} bytes, 12 of {2}, 8 of {3}",
        edge, edge * edge * sizeof(double), edge * sizeof(double), sizeof(double)));
}

}  // namespace

int run_cuda_latency(const Options& options, const tool::Session& session) {
  return run_pair(options, session, CudaTable::Kind::latency, 1);
}

int run_cuda_bandwidth(const Options& options, const tool::Session& session) {
  return run_pair(options, session, CudaTable::Kind::bandwidth, options.window);
}

int run_cuda_multi_pair(const Options& options, const tool::Session& session) {
  require_even_ranks(session, "multi-pair");
  return run_pairs(options, session, CudaTable::Kind::multi_pair, options.window);
}

int run_cuda_message_rate(const Options& options, const tool::Session& session) {
  require_even_ranks(session, "message-rate");
  return run_pairs(options, session, CudaTable::Kind::message_rate, options.window);
}

int run_cuda_exchange(const Options& options, const tool::Session& session) {
  if (session.size() < 2 || (options.pairs == Pairs::neighbours && session.size() % 2 != 0))
    throw tool::UserError(
        fmt::format("bench exchange has {} ranks and needs an even number of them, or with --pairs "
                    "all at least 2",
                    session.size()));
  if (options.mode == Mode::ready)
    throw tool::UserError(
        "bench exchange starts sends and receives together, so that sends cannot be ready");
  choose_device(session.rank());
  const CudaTable table(CudaTable::Kind::exchange, options, session);
  describe_halos(options, table);
  bool is_first = true;
  for (const auto& sizes : exchanges(options)) {
    const Traffic traffic =
        at_once(session.rank(), session.size(), partners_of(options, session), sizes);
    const std::size_t bytes = bytes_of(traffic.sends);
    measure(options, traffic,
            {.bytes = bytes,
             .moved = static_cast<double>(bytes) * session.size(),
             .messages = traffic.sends.size(),
             .trips = std::max(trips_for(options, bytes) / 4, 2)},
            table, std::exchange(is_first, false));
  }
  return 0;
}

// A message to a neighbour that is this rank itself goes by the same calls.
int run_cuda_halo(const Options& options, const tool::Session& session) {
  if (options.mode == Mode::ready)
    throw tool::UserError(
        "bench halo starts sends and receives together, so that sends cannot be ready");
  choose_device(session.rank());
  const CudaTable table(CudaTable::Kind::halo, options, session);
  bool is_first = true;
  for (const std::size_t edge : options.halo) {
    const Traffic traffic = with_neighbours(session.rank(), session.size(), edge);
    const std::size_t bytes = bytes_of(traffic.sends);
    measure(options, traffic,
            {.bytes = bytes,
             .moved = static_cast<double>(bytes) * session.size(),
             .edge = edge,
             .messages = traffic.sends.size(),
             .trips = std::max(trips_for(options, bytes) / 4, 2)},
            table, std::exchange(is_first, false));
  }
  return 0;
}

}  // namespace penstock::bench
