// SPDX-License-Identifier: Apache-2.0
#include "unit/coll/trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <random>

namespace penstock::coll {

namespace {

std::byte byte_of(std::size_t source, std::size_t destination, std::size_t index) {
  const std::size_t mixed = (source * 131 + destination) * 8191 + index;
  return static_cast<std::byte>(mixed * 0x9E3779B97F4A7C15U >> 56U);
}

float float_of(std::size_t rank, std::size_t index) {
  const auto mixed = static_cast<std::uint32_t>((rank * 524287 + index + 1) * 0x9E3779B9U);
  return static_cast<float>(mixed >> 8U) / static_cast<float>(1U << (mixed & 15U));
}

void fill(std::vector<std::byte>& buffer, std::size_t first, std::size_t bytes, std::size_t source,
          std::size_t destination) {
  for (std::size_t i = 0; i < bytes; ++i) buffer[first + i] = byte_of(source, destination, i);
}

void fill_floats(std::vector<std::byte>& buffer, std::size_t rank) {
  for (std::size_t i = 0; i * sizeof(float) < buffer.size(); ++i) {
    const float value = float_of(rank, i);
    std::memcpy(&buffer[i * sizeof(float)], &value, sizeof value);
  }
}

// All that nobody writes has bytes of its own, too.
Trial blank(const Shape& shape, std::size_t input, std::size_t output) {
  Trial trial;
  trial.shapes.assign(shape.ranks, shape);
  trial.before.resize(shape.ranks);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    std::vector<std::byte>& out = trial.before[rank][Buffer::output];
    out.resize(output);
    fill(out, 0, output, rank, 4711);
    if (!shape.in_place) trial.before[rank][Buffer::input].resize(input);
  }
  return trial;
}

Buffer source_of(const Shape& shape) {
  return shape.in_place ? Buffer::output : Buffer::input;
}

// The combined value of one element.
void write_value(const Shape& shape, Reference reference, std::size_t element, std::byte* to) {
  std::vector<float> values(shape.ranks);
  for (int rank = 0; rank < shape.ranks; ++rank) values[rank] = float_of(rank, element);
  const float value = reference(shape, values);
  std::memcpy(to, &value, sizeof value);
}

std::vector<std::vector<std::size_t>> random_counts(const Shape& shape, std::minstd_rand& random) {
  std::vector<std::vector<std::size_t>> counts(shape.ranks);
  for (auto& row : counts)
    for (int rank = 0; rank < shape.ranks; ++rank)
      row.push_back(random() % 3 == 0 ? 0 : random() % (2 * shape.bytes() + 1));
  for (int rank = 0; rank < shape.ranks && shape.in_place; ++rank)
    for (int peer = 0; peer < rank; ++peer) counts[rank][peer] = counts[peer][rank];
  return counts;
}

// Blocks of these lengths, with holes between them, in any order. The last one ends the buffer.
std::vector<Block> scattered(const std::vector<std::size_t>& lengths, std::minstd_rand& random) {
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), random);
  std::vector<Block> blocks(lengths.size());
  std::size_t at = 0;
  for (const std::size_t peer : order) {
    at += random() % 4;
    blocks[peer] = {at, lengths[peer]};
    at += lengths[peer];
  }
  return blocks;
}

std::size_t end_of(const std::vector<Block>& blocks) {
  std::size_t end = 0;
  for (const Block& block : blocks) end = std::max(end, block.offset + block.bytes);
  return end;
}

std::vector<std::size_t> column(const std::vector<std::vector<std::size_t>>& counts, int rank) {
  std::vector<std::size_t> lengths;
  lengths.reserve(counts.size());
  for (const auto& row : counts) lengths.push_back(row[rank]);
  return lengths;
}

struct Edge {
  int from, to;
  std::size_t bytes;
};

std::vector<Edge> random_edges(const Shape& shape, std::minstd_rand& random) {
  std::vector<Edge> edges(random() % (3 * shape.ranks + 1));
  for (Edge& edge : edges) {
    edge.from = static_cast<int>(random() % shape.ranks);
    edge.to = static_cast<int>(random() % shape.ranks);
    edge.bytes = random() % 3 == 0 ? 0 : random() % (2 * shape.bytes() + 1);
  }
  return edges;
}

// One end of each of a rank's edges, which keep their order where they are of one peer.
std::vector<std::size_t> ends_of(const std::vector<Edge>& edges, int rank, int Edge::*end,
                                 int Edge::*other, int ranks, std::minstd_rand& random) {
  std::vector<std::size_t> numbers;
  for (std::size_t edge = 0; edge < edges.size(); ++edge)
    if (edges[edge].*end == rank) numbers.push_back(edge);
  std::vector<unsigned long> places(ranks);  // of the peers, in the order of the ends
  for (unsigned long& place : places) place = random();
  std::stable_sort(numbers.begin(), numbers.end(), [&](std::size_t a, std::size_t b) {
    return places[edges[a].*other] < places[edges[b].*other];
  });
  return numbers;
}

}  // namespace

std::vector<Schedule> Trial::schedules(const Algorithm& algorithm) const {
  std::vector<Schedule> all;
  for (std::size_t rank = 0; rank < shapes.size(); ++rank)
    all.push_back(algorithm.schedule(shapes[rank], static_cast<int>(rank)));
  return all;
}

Trial barrier_trial(const Shape& shape) {
  Trial trial = blank(shape, 0, 0);
  trial.after = trial.before;
  return trial;
}

Trial bcast_trial(const Shape& shape) {
  Trial trial = blank(shape, 0, shape.bytes());
  trial.after = trial.before;
  for (RankMemory& each : trial.after)
    each[Buffer::output] = trial.before[shape.root][Buffer::output];
  return trial;
}

Trial allgather_trial(const Shape& shape) {
  const std::size_t bytes = shape.bytes();
  Trial trial = blank(shape, bytes, shape.ranks * bytes);
  for (int rank = 0; rank < shape.ranks; ++rank)
    fill(trial.before[rank][source_of(shape)], shape.in_place ? rank * bytes : 0, bytes, rank, 0);
  trial.after = trial.before;
  for (RankMemory& each : trial.after)
    for (int rank = 0; rank < shape.ranks; ++rank)
      fill(each[Buffer::output], rank * bytes, bytes, rank, 0);
  return trial;
}

Trial alltoall_trial(const Shape& shape) {
  const std::size_t bytes = shape.bytes();
  Trial trial = blank(shape, shape.ranks * bytes, shape.ranks * bytes);
  for (int rank = 0; rank < shape.ranks; ++rank)
    for (int peer = 0; peer < shape.ranks; ++peer)
      fill(trial.before[rank][source_of(shape)], peer * bytes, bytes, rank, peer);
  trial.after = trial.before;
  for (int rank = 0; rank < shape.ranks; ++rank)
    for (int peer = 0; peer < shape.ranks; ++peer)
      fill(trial.after[rank][Buffer::output], peer * bytes, bytes, peer, rank);
  return trial;
}

Trial alltoallv_trial(const Shape& shape, std::uint32_t seed) {
  std::minstd_rand random(seed + 1);
  const auto counts = random_counts(shape, random);
  Trial trial = blank(shape, 0, 0);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    Shape& own = trial.shapes[rank];
    own.receives = scattered(column(counts, rank), random);
    std::vector<std::byte>& out = trial.before[rank][Buffer::output];
    out.resize(end_of(own.receives) + 3);
    fill(out, 0, out.size(), rank, 4711);
    if (!shape.in_place) {
      own.sends = scattered(counts[rank], random);
      trial.before[rank][Buffer::input].resize(end_of(own.sends));
    }
    const std::vector<Block>& sends = shape.in_place ? own.receives : own.sends;
    for (int peer = 0; peer < shape.ranks; ++peer)
      fill(trial.before[rank][source_of(shape)], sends[peer].offset, sends[peer].bytes, rank, peer);
  }
  trial.after = trial.before;
  for (int rank = 0; rank < shape.ranks; ++rank)
    for (int peer = 0; peer < shape.ranks; ++peer) {
      const Block& block = trial.shapes[rank].receives[peer];
      fill(trial.after[rank][Buffer::output], block.offset, block.bytes, peer, rank);
    }
  return trial;
}

// A byte tells its edge.
Trial neighbor_trial(const Shape& shape, std::uint32_t seed) {
  std::minstd_rand random(seed + 1);
  const std::vector<Edge> edges = random_edges(shape, random);
  Trial trial = blank(shape, 0, 0);
  trial.after.resize(shape.ranks);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    Shape& own = trial.shapes[rank];
    const auto out = ends_of(edges, rank, &Edge::from, &Edge::to, shape.ranks, random);
    const auto in = ends_of(edges, rank, &Edge::to, &Edge::from, shape.ranks, random);
    std::vector<std::size_t> sends, receives;
    for (const std::size_t edge : out) {
      own.destinations.push_back(edges[edge].to);
      sends.push_back(edges[edge].bytes);
    }
    for (const std::size_t edge : in) {
      own.sources.push_back(edges[edge].from);
      receives.push_back(edges[edge].bytes);
    }
    own.sends = scattered(sends, random);
    own.receives = scattered(receives, random);
    RankMemory& before = trial.before[rank];
    before[Buffer::input].resize(end_of(own.sends));
    before[Buffer::output].resize(end_of(own.receives) + 3);
    fill(before[Buffer::output], 0, before[Buffer::output].size(), rank, 4711);
    for (std::size_t i = 0; i < out.size(); ++i)
      fill(before[Buffer::input], own.sends[i].offset, own.sends[i].bytes, out[i], 1);
    trial.after[rank] = before;
    for (std::size_t i = 0; i < in.size(); ++i)
      fill(trial.after[rank][Buffer::output], own.receives[i].offset, own.receives[i].bytes, in[i],
           1);
  }
  return trial;
}

float by_rank(const Shape& /*shape*/, const std::vector<float>& values) {
  float value = values.front();
  for (std::size_t i = 1; i < values.size(); ++i) value = combined(value, values[i]);
  return value;
}

float by_doubling(const Shape& /*shape*/, const std::vector<float>& values) {
  std::vector<float> left;
  const std::size_t surplus = values.size() - std::bit_floor(values.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    if (i < 2 * surplus && i % 2 == 1)
      left.back() = combined(left.back(), values[i]);
    else
      left.push_back(values[i]);
  for (; left.size() > 1; left.resize(left.size() / 2))
    for (std::size_t i = 0; i < left.size() / 2; ++i)
      left[i] = combined(left[2 * i], left[2 * i + 1]);
  return left.front();
}

Trial allreduce_trial(const Shape& shape, Reference reference) {
  Trial trial = blank(shape, shape.bytes(), shape.bytes());
  for (int rank = 0; rank < shape.ranks; ++rank)
    fill_floats(trial.before[rank][source_of(shape)], rank);
  trial.after = trial.before;
  if (shape.count == 0) return trial;
  std::vector<std::byte> values(shape.bytes());
  for (std::size_t i = 0; i < shape.count; ++i)
    write_value(shape, reference, i, &values[i * sizeof(float)]);
  for (RankMemory& each : trial.after) each[Buffer::output] = values;
  return trial;
}

Trial team_allreduce_trial(const Shape& shape, Reference reference) {
  Trial trial = blank(shape, shape.bytes(), shape.bytes());
  Shape teams = shape;
  teams.ranks = shape.ranks / node_ranks(shape);
  const std::vector<int> order = node_order(shape);
  for (int rank = 0; rank < shape.ranks; ++rank)
    trial.owners.push_back(order[shape.node[rank] * node_ranks(shape)]);
  for (int rank = 0; rank < shape.ranks; ++rank)
    if (trial.owners[rank] == rank)
      fill_floats(trial.before[rank][source_of(shape)], shape.node[rank]);
    else
      trial.before[rank] = {};
  trial.after = trial.before;
  for (int rank = 0; rank < shape.ranks; ++rank)
    for (std::size_t i = 0; trial.owners[rank] == rank && i < shape.count; ++i)
      write_value(teams, reference, i, &trial.after[rank][Buffer::output][i * sizeof(float)]);
  return trial;
}

Trial reduce_scatter_trial(const Shape& shape) {
  const std::size_t all = shape.ranks * shape.bytes();
  Trial trial = blank(shape, all, shape.in_place ? all : shape.bytes());
  for (int rank = 0; rank < shape.ranks; ++rank)
    fill_floats(trial.before[rank][source_of(shape)], rank);
  trial.after = trial.before;
  for (int rank = 0; rank < shape.ranks; ++rank)
    for (std::size_t i = 0; i < shape.count; ++i)
      write_value(shape, by_rank, rank * shape.count + i,
                  &trial.after[rank][Buffer::output][i * sizeof(float)]);
  return trial;
}

Trial reduce_trial(const Shape& shape, Reference reference) {
  Trial trial = allreduce_trial(shape, reference);
  for (int rank = 0; rank < shape.ranks; ++rank) {
    if (rank == shape.root) continue;
    RankMemory& before = trial.before[rank];
    if (shape.in_place) std::swap(before[Buffer::input], before[Buffer::output]);
    before[Buffer::output].clear();
    trial.after[rank] = before;
  }
  return trial;
}

std::string run(const Trial& trial, const std::vector<Schedule>& schedules, std::uint32_t seed) {
  std::vector<RankMemory> memories = trial.before;
  const SendMode mode = seed % 2 == 0 ? SendMode::buffered : SendMode::synchronous;
  std::string complaint = Simulator(schedules, memories, mode, seed, trial.owners).run();
  if (!complaint.empty()) return complaint;
  for (std::size_t rank = 0; rank < memories.size(); ++rank)
    for (const Buffer buffer : {Buffer::input, Buffer::output}) {
      const std::vector<std::byte>& is = memories[rank][buffer];
      const std::vector<std::byte>& should = trial.after[rank][buffer];
      const auto [at, wanted] = std::mismatch(is.begin(), is.end(), should.begin(), should.end());
      if (at != is.end() || wanted != should.end())
        return fmt::format("rank {}: byte {} of its {} is wrong", rank, at - is.begin(),
                           buffer == Buffer::input ? "input" : "output");
    }
  return {};
}

Shape placed(int nodes, int node_ranks, int kind) {
  Shape shape;
  shape.ranks = nodes * node_ranks;
  std::vector<int> order(shape.ranks);
  std::iota(order.begin(), order.end(), 0);
  std::minstd_rand random(kind);
  if (kind > 1) std::shuffle(order.begin(), order.end(), random);
  for (const int position : order) {
    shape.node.push_back(kind == 1 ? position % nodes : position / node_ranks);
    shape.index.push_back(kind == 1 ? position / nodes : position % node_ranks);
  }
  return shape;
}

}  // namespace penstock::coll
