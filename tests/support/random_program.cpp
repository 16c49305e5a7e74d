// SPDX-License-Identifier: Apache-2.0
#include "support/random_program.hpp"

#include <algorithm>
#include <random>
#include <sstream>
#include <utility>

#include "support/endpoint.hpp"
#include "support/environment.hpp"

namespace penstock::test {
namespace {

constexpr std::size_t largest = 5u << 20;
constexpr std::size_t most_bytes = 20u << 20;  // of all edges
constexpr std::size_t none = ~std::size_t{0};

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed * 0x9E3779B97F4A7C15u) {}
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(engine_() % count); }
  bool one_in(std::size_t count) { return below(count) == 0; }
  std::size_t between(std::size_t first, std::size_t last) {
    return first + below(last - first + 1);
  }
  template <class List>
  const auto& pick(const List& list) {
    return list[below(list.size())];
  }
  // std::shuffle may differ between libraries.
  template <class List>
  void shuffle(List& list) {
    for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[below(i)]);
  }

 private:
  std::mt19937_64 engine_;
};

// ---- Edges -------------------------------------------------------------------------------------

std::size_t random_size(Random& random) {
  static const std::vector<std::size_t> limits = [] {
    std::vector<std::size_t> sizes = protocol_sizes();
    // PENSTOCK_CUDA_WIDE_LINES.
    sizes.insert(sizes.end(), {(256u << 10) - 1, 256u << 10, (256u << 10) + 1});
    return sizes;
  }();
  switch (random.below(8)) {
    case 0:
      return random.between(0, 1);
    case 1:
      return 2 * random.below(5000) + 1;
    case 2:
      return largest - random.below(1000);
    case 3:
    case 4:  // uniform in the logarithm
      return random.between(1, (std::size_t{2} << random.below(22)) - 1);
    default:
      return random.pick(limits);
  }
}

RandomEdge random_edge(Random& random, std::size_t ranks) {
  const auto memory = [&] {
    return random.pick(
        std::vector<Memory>{Memory::ordinary, Memory::ordinary, Memory::allocated, Memory::pinned});
  };
  RandomEdge edge;
  edge.source = static_cast<int>(random.below(ranks));
  edge.destination = static_cast<int>(random.below(ranks));
  edge.tag = static_cast<int>(random.below(4));
  edge.backwards = random.one_in(3);
  edge.kind = random.one_in(2) ? Kind::synchronous : Kind::standard;
  edge.bytes = std::min(largest, random_size(random));
  edge.extra = random.one_in(2) ? random.below(300) : 0;
  edge.from_shift = random.one_in(2) ? random.below(17) : 0;
  edge.to_shift = random.one_in(2) ? random.below(17) : 0;
  edge.from = memory();
  edge.to = memory();
  return edge;
}

std::vector<RandomEdge> random_edges(Random& random, std::size_t ranks) {
  std::vector<RandomEdge> edges(random.between(8, 24));
  std::size_t left = most_bytes;
  for (RandomEdge& edge : edges) {
    edge = random_edge(random, ranks);
    edge.bytes = std::min(edge.bytes, left);
    left -= edge.bytes;
  }
  return edges;
}

// ---- One round ---------------------------------------------------------------------------------

// One half starts, or waits, in a block of its rank. `begins`: it is the first of that block.
struct Move {
  int rank;
  std::size_t block, half;
  bool starts, begins;
};

// How far a half is, in the order in which the ranks' calls are made here.
struct Progress {
  std::uint64_t starts = 0, waits = 0;
  bool started() const { return starts > waits; }
};

template <class List>
bool may_wait(const List& halves, std::size_t half) {
  return halves[half].started() && halves[half ^ 1].starts >= halves[half].starts;
}

// A run of some edges, of some epochs each, whose calls each rank makes in blocks. Nothing is
// started before it or left started behind it, so rounds may follow each other in any order, and
// each any number of times. Where each rank has one lane alone, all blocks are closed: on several,
// ranks may have to leave a block for what another's waits for.
class Round {
 public:
  Round(Random& random, RandomProgram& program, const std::vector<std::size_t>& edges,
        bool one_lane)
      : random_(random),
        program_(program),
        one_lane_(one_lane),
        halves_(2 * program.edges.size()),
        ranks_(program.ranks.size()) {
    for (const std::size_t edge : edges) add(edge);
    for (Rank& rank : ranks_) {
      rank.send_weight = random.between(1, 6);
      rank.receive_weight = random.between(1, 6);
      rank.wait_weight = random.between(1, 6);
    }
    stays_ = random.pick(std::vector<std::size_t>{0, 50, 90, 98});
    joins_ = random.pick(std::vector<std::size_t>{0, 50, 100});
    longest_ = random.between(2, 16);
  }

  std::vector<Move> make() {
    for (int rank = next(-1); rank >= 0; rank = next(rank)) move(rank);
    return moves_;
  }

 private:
  struct Half : Progress {
    std::uint64_t left = 0;
    std::size_t lane = 0;
    std::size_t block = none;  // of the last start
  };
  struct Rank {
    std::vector<std::size_t> halves;
    std::size_t send_weight, receive_weight, wait_weight;
    std::size_t block = none;  // the one that the rank is in
    std::size_t length = 0;    // of that
    std::size_t started = 0;   // there, and not waited for
    bool foreign = false;      // it has waited for what another one has started
  };

  void add(std::size_t edge) {
    const std::uint64_t epochs = random_.between(1, 3);
    for (const std::size_t half : {2 * edge, 2 * edge + 1}) {
      const RandomEdge& made = program_.edges[edge];
      const auto rank = static_cast<std::size_t>(receives(half) ? made.destination : made.source);
      halves_[half].left = epochs;
      ranks_[rank].halves.push_back(half);
      halves_[half].lane = lane_for(rank, half);
    }
  }
  // Most have one that others have, too: so that blocks hold more than one message.
  std::size_t lane_for(std::size_t rank, std::size_t half) {
    const std::size_t other = random_.pick(ranks_[rank].halves);
    if (one_lane_ && ranks_[rank].halves.size() > 1) return halves_[ranks_[rank].halves[0]].lane;
    if (other != half && !random_.one_in(3)) return halves_[other].lane;
    return random_.below(program_.ranks[rank].lanes);
  }

  RandomBlock& block(int rank) { return program_.ranks[at(rank)].blocks[ranks_[at(rank)].block]; }
  static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

  // Each as often as it weighs.
  std::vector<std::size_t> candidates(int number) {
    const Rank& rank = ranks_[at(number)];
    std::vector<std::size_t> found;
    for (const std::size_t half : rank.halves) {
      const Half& each = halves_[half];
      if (rank.block != none && block(number).lane != each.lane) continue;
      if (may_wait(halves_, half))
        found.insert(found.end(), rank.wait_weight, half);
      else if (!each.started() && each.left > 0 &&
               (rank.block == none || rank.length < longest_ || stretches_))
        found.insert(found.end(), receives(half) ? rank.receive_weight : rank.send_weight, half);
    }
    return found;
  }

  // The rank that makes the next call, the same as before more or less often; -1 at the end.
  int next(int last) {
    if (last >= 0 && random_.below(100) < stays_ && can_move(last)) return last;
    std::vector<int> order(ranks_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    while (true) {
      random_.shuffle(order);
      for (const int rank : order)
        if (can_move(rank)) return rank;
      // Each waits in its block for what another's has not come to: they may grow, or one is left.
      if (!std::exchange(stretches_, true)) continue;
      const auto inside = std::find_if(order.begin(), order.end(),
                                       [&](int rank) { return ranks_[at(rank)].block != none; });
      if (inside == order.end()) return -1;
      leave(*inside);
    }
  }
  bool can_move(int rank) {
    if (!candidates(rank).empty()) return true;
    if (ranks_[at(rank)].block == none || ranks_[at(rank)].started > 0) return false;
    leave(rank);
    return !candidates(rank).empty();
  }

  void move(int number) {
    Rank& rank = ranks_[at(number)];
    const std::size_t half = random_.pick(candidates(number));
    Half& moved = halves_[half];
    const bool starts = !moved.started(), begins = rank.block == none;
    stretches_ = false;
    if (begins) enter(number, moved.lane);
    moves_.push_back({number, rank.block, half, starts, begins});
    append(block(number), half, starts);
    ++rank.length;
    if (starts) {
      ++moved.starts;
      --moved.left;
      ++rank.started;
      moved.block = rank.block;
    } else {
      ++moved.waits;
      if (moved.block == rank.block)
        --rank.started;
      else
        rank.foreign = true;
    }
    if (rank.started == 0 && (rank.length >= longest_ || random_.one_in(5))) leave(number);
  }
  void append(RandomBlock& block, std::size_t half, bool starts) {
    if (!block.calls.empty() && block.calls.back().starts == starts && random_.below(100) < joins_)
      block.calls.back().halves.push_back(half);
    else
      block.calls.push_back({starts, {half}});
  }
  void enter(int number, std::size_t lane) {
    auto& blocks = program_.ranks[at(number)].blocks;
    Rank& rank = ranks_[at(number)];
    rank.block = blocks.size();
    rank.length = rank.started = 0;
    rank.foreign = false;
    blocks.push_back({lane, false, {}});
  }
  void leave(int number) {
    Rank& rank = ranks_[at(number)];
    block(number).closed = rank.started == 0 && !rank.foreign;
    rank.block = none;
  }

  Random& random_;
  RandomProgram& program_;
  bool one_lane_;
  bool stretches_ = false;
  std::vector<Half> halves_;
  std::vector<Rank> ranks_;
  std::vector<Move> moves_;
  std::size_t stays_, joins_;  // percent
  std::size_t longest_;
};

// ---- The program -------------------------------------------------------------------------------

// Rounds in random order, their blocks enqueued or launched, each end by itself. Between blocks a
// rank starts and awaits the rest of the edges, the roaming ones: on any lane, across rounds.
class Maker {
 public:
  Maker(std::uint64_t seed, int ranks) : random_(seed) {
    program_.seed = seed;
    program_.ranks.resize(static_cast<std::size_t>(ranks));
    for (RandomRank& rank : program_.ranks) rank.lanes = random_.between(4, 16);
    program_.edges = random_edges(random_, program_.ranks.size());
    program_.parts_early = random_.one_in(2);
    crowded_ = random_.one_in(2);
    halves_.resize(2 * program_.edges.size());
    for (std::size_t half = 0; half < halves_.size(); ++half) {
      const RandomEdge& edge = program_.edges[edge_of(half)];
      halves_[half].rank =
          static_cast<std::size_t>(receives(half) ? edge.destination : edge.source);
    }
  }

  RandomProgram make() {
    const std::size_t roaming = random_.between(1, program_.edges.size() / 3);
    for (std::size_t half = 0; half < 2 * roaming; ++half) roaming_.push_back(half);
    std::vector<std::vector<Move>> rounds(random_.between(1, 4));
    for (auto& round : rounds) round = make_round(some_edges(roaming));
    for (std::size_t i = random_.between(8, 24); i > 0; --i) run(random_.pick(rounds));
    end_roaming();
    for (std::size_t edge = 0; edge < program_.edges.size(); ++edge)
      program_.edges[edge].epochs = halves_[2 * edge].starts;
    return program_;
  }

 private:
  using Verb = RandomStep::Verb;
  struct Half : Progress {
    std::size_t rank = 0;
    std::size_t lane = 0;  // of the last start
  };

  std::vector<std::size_t> some_edges(std::size_t first) {
    std::vector<std::size_t> edges;
    for (std::size_t edge = first; edge < program_.edges.size(); ++edge)
      if (!random_.one_in(3)) edges.push_back(edge);
    return edges;
  }

  std::vector<Move> make_round(std::vector<std::size_t> edges) {
    if (random_.one_in(3)) return Round(random_, program_, edges, false).make();
    std::vector<Move> round;
    random_.shuffle(edges);
    while (!edges.empty()) {
      const std::size_t taken = random_.between(1, edges.size());
      const std::vector<std::size_t> some(edges.end() - static_cast<std::ptrdiff_t>(taken),
                                          edges.end());
      edges.resize(edges.size() - taken);
      const std::vector<Move> moves = Round(random_, program_, some, true).make();
      round.insert(round.end(), moves.begin(), moves.end());
    }
    return round;
  }

  void run(const std::vector<Move>& round) {
    for (const Move& move : round) {
      const auto rank = static_cast<std::size_t>(move.rank);
      if (move.begins) {
        rest(rank);
        const bool launches = program_.ranks[rank].blocks[move.block].closed && !random_.one_in(3);
        add(rank, {launches ? Verb::launch : Verb::enqueue, move.block});
      }
      go(move.half, move.starts, program_.ranks[rank].blocks[move.block].lane);
    }
    for (std::size_t rank = 0; rank < program_.ranks.size(); ++rank) rest(rank);
  }

  void go(std::size_t half, bool starts, std::size_t lane) {
    if (starts) {
      ++halves_[half].starts;
      halves_[half].lane = lane;
    } else {
      ++halves_[half].waits;
    }
  }

  // Between two blocks.
  void rest(std::size_t rank) {
    if (random_.one_in(2)) roam(rank);
    const std::size_t lane = random_.below(program_.ranks[rank].lanes);
    if (random_.one_in(12))
      add(rank, {is_open(rank, lane) ? Verb::synchronize : Verb::finish, 0, lane});
    if (random_.one_in(8)) add(rank, {Verb::delay, 0, lane, micro(200)});
    if (crowded_ && random_.one_in(4)) {
      const bool crowds = random_.one_in(2);
      const std::size_t where = random_.one_in(3) ? lane : RandomStep::beside;
      add(rank, {crowds ? Verb::crowd : Verb::occupy, 0, where, micro(crowds ? 400 : 1500)});
    }
  }
  unsigned micro(std::size_t most) { return static_cast<unsigned>(random_.between(1, most)); }
  bool is_open(std::size_t rank, std::size_t lane) const {
    return std::any_of(halves_.begin(), halves_.end(), [&](const Half& half) {
      return half.rank == rank && half.lane == lane && half.started();
    });
  }

  void roam(std::size_t rank) {
    const std::size_t half = random_.pick(roaming_);
    if (halves_[half].rank == rank) roam_on(half);
  }
  void roam_on(std::size_t half) {
    if (!halves_[half].started())
      call(half, true, random_.below(program_.ranks[halves_[half].rank].lanes));
    else if (may_wait(halves_, half))
      call(half, false, halves_[half].lane);
  }
  void call(std::size_t half, bool starts, std::size_t lane) {
    const std::size_t rank = halves_[half].rank;
    auto& blocks = program_.ranks[rank].blocks;
    blocks.push_back({lane, false, {{starts, {half}}}});
    add(rank, {Verb::enqueue, blocks.size() - 1});
    go(half, starts, lane);
  }
  // Who is an epoch behind starts it; then all wait.
  void end_roaming() {
    random_.shuffle(roaming_);
    for (const std::size_t half : roaming_)
      while (halves_[half].starts < halves_[half ^ 1].starts) roam_on(half);
    for (const std::size_t half : roaming_)
      if (halves_[half].started()) roam_on(half);
  }

  void add(std::size_t rank, const RandomStep& step) { program_.ranks[rank].steps.push_back(step); }

  Random random_;
  RandomProgram program_;
  std::vector<Half> halves_;
  std::vector<std::size_t> roaming_;
  bool crowded_ = false;
};

std::size_t count(const RandomRank& rank, RandomStep::Verb verb) {
  return static_cast<std::size_t>(
      std::count_if(rank.steps.begin(), rank.steps.end(),
                    [verb](const RandomStep& step) { return step.verb == verb; }));
}

}  // namespace

RandomProgram make_random_program(std::uint64_t seed, int ranks) {
  return Maker(seed, ranks).make();
}

std::string text(const RandomProgram& program) {
  using Verb = RandomStep::Verb;
  std::uint64_t messages = 0;
  for (const RandomEdge& edge : program.edges) messages += edge.epochs;
  std::ostringstream out;
  out << "seed " << program.seed << ", " << program.ranks.size()
      << " ranks: " << program.edges.size() << " edges, " << messages << " messages;";
  for (std::size_t i = 0; i < program.ranks.size(); ++i) {
    const RandomRank& rank = program.ranks[i];
    out << " rank " << i << ": " << rank.lanes << " lanes, " << count(rank, Verb::enqueue)
        << " blocks enqueued, " << count(rank, Verb::launch) << " launched, "
        << count(rank, Verb::crowd) + count(rank, Verb::occupy) << " of other work;";
  }
  out << (program.parts_early ? " parts early" : " parts together");
  return out.str();
}

std::string text(const RandomEdge& edge) {
  std::ostringstream out;
  out << "from rank " << edge.source << " to rank " << edge.destination << ", tag " << edge.tag
      << (edge.backwards ? " backwards, " : ", ") << name(edge.kind) << ", " << edge.bytes << " B, "
      << name(edge.from) << " + " << edge.from_shift << " to " << name(edge.to) << " + "
      << edge.to_shift;
  return out.str();
}

}  // namespace penstock::test
