// SPDX-License-Identifier: Apache-2.0
#include "collective_traffic.hpp"

#include <algorithm>

namespace penstock::bench {
namespace {

// Who a block is for, or comes from, matters where there are several.
std::vector<Traffic::Part> blocks(int count, std::size_t bytes) {
  std::vector<Traffic::Part> all;
  for (int peer = 0; peer < count; ++peer) all.push_back({peer, bytes});
  return all;
}

// Blocks of three lengths, which differ between there and back.
std::size_t uneven(std::size_t bytes, int from, int to) {
  return bytes * static_cast<std::size_t>(1 + (from + 2 * to) % 3) / 2;
}

void add_uneven_blocks(std::size_t bytes, Traffic& traffic) {
  for (int peer = 0; peer < traffic.ranks; ++peer) {
    traffic.sends.push_back({peer, uneven(bytes, traffic.rank, peer)});
    traffic.receives.push_back({peer, uneven(bytes, peer, traffic.rank)});
  }
}

void add_even_blocks(Kind kind, std::size_t bytes, Traffic& traffic) {
  const bool is_root = traffic.rank == root_rank;
  const bool gives = kind != Kind::bcast || is_root;
  const bool takes = kind == Kind::bcast ? !is_root : kind != Kind::reduce || is_root;
  const bool gives_to_each = kind == Kind::reduce_scatter || kind == Kind::alltoall;
  const bool takes_of_each = kind == Kind::allgather || kind == Kind::alltoall;
  if (gives) traffic.sends = blocks(gives_to_each ? traffic.ranks : 1, bytes);
  if (takes) traffic.receives = blocks(takes_of_each ? traffic.ranks : 1, bytes);
}

Traffic traffic_of(Kind kind, const tool::Session& session, std::size_t bytes,
                   const std::string& algorithm) {
  Traffic traffic{.shape = Traffic::Shape::at_once,
                  .rank = session.rank(),
                  .ranks = session.size(),
                  .algorithm = algorithm};
  if (kind == Kind::alltoallv)
    add_uneven_blocks(bytes, traffic);
  else if (kind != Kind::barrier)
    add_even_blocks(kind, bytes, traffic);
  return traffic;
}

// Of all ranks, whatever each of them has: they make equally many trips.
Row row_of(const Traffic& traffic, std::size_t bytes) {
  const std::size_t most = std::max(traffic.sends.size(), traffic.receives.size());
  return {traffic, bytes, 1, most * bytes * static_cast<std::size_t>(traffic.ranks)};
}

}  // namespace

std::vector<Row> collective_rows(const Options& options, const tool::Session& session) {
  const bool has_sizes = options.kind != Kind::barrier;
  const std::vector<std::size_t> sizes =
      has_sizes ? message_sizes(options) : std::vector<std::size_t>{0};
  std::vector<Row> rows;
  for (const std::size_t bytes : sizes) {
    const std::vector<Row> of_size = collective_rows_of(options, session, bytes);
    rows.insert(rows.end(), of_size.begin(), of_size.end());
  }
  return rows;
}

std::vector<Row> collective_rows_of(const Options& options, const tool::Session& session,
                                    std::size_t bytes) {
  std::vector<std::string> algorithms = options.algorithms;
  if (algorithms.empty()) algorithms.emplace_back();
  std::vector<Row> rows;
  for (const std::string& algorithm : algorithms)
    rows.push_back(row_of(traffic_of(options.kind, session, bytes, algorithm), bytes));
  return rows;
}

}  // namespace penstock::bench
