// SPDX-License-Identifier: Apache-2.0
// Random epochs against a model that every rank computes alike: groups, puts, gets, accumulates,
// sizes and streams. Every number of every window, and of every get, is compared in every epoch.
#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <utility>

#include "conformance/window.hpp"
#include "support/rounds.hpp"

namespace penstock::test {
namespace {

enum class What { put, get, add };

struct Piece {
  What what;
  std::size_t at, count;  // in the target's window
};

// What one rank does to another's window in a round.
struct Edge {
  int origin, target;
  std::vector<Piece> pieces;
};

struct Round {
  std::vector<Edge> edges;
};

// Of each window every rank has a part of its own to write and read, and all share one to add to.
class Plan {
 public:
  Plan(std::uint64_t seed, std::size_t part, std::size_t shared)
      : random_(seed), part_(part), shared_(shared) {}

  std::size_t numbers() const { return static_cast<std::size_t>(size()) * part_ + shared_; }

  Round next() {
    Round round;
    for (int origin = 0; origin < size(); ++origin)
      for (int target = 0; target < size(); ++target)
        if (random_() % 3 != 0) round.edges.push_back({origin, target, pieces(origin)});
    return round;
  }

 private:
  // Of about any size, one behind the other, so that no two of a round overlap.
  std::vector<Piece> pieces(int origin) {
    std::vector<Piece> pieces;
    const std::size_t begin = static_cast<std::size_t>(origin) * part_, end = begin + part_;
    for (std::size_t at = begin; at < end && random_() % 8 != 0;) {
      at += random_() % 3;
      const std::size_t most = random_() % 4 == 0 ? part_ : 20;
      const std::size_t count = std::min(end - std::min(at, end), 1 + random_() % most);
      if (count == 0) break;
      pieces.push_back({random_() % 3 == 0 ? What::get : What::put, at, count});
      at += count;
    }
    if (random_() % 2 == 0) {
      const std::size_t first = random_() % shared_;
      pieces.push_back({What::add, static_cast<std::size_t>(size()) * part_ + first,
                        1 + random_() % (shared_ - first)});
    }
    return pieces;
  }

  std::mt19937_64 random_;
  const std::size_t part_, shared_;
};

// All windows as they are after each round.
class Model {
 public:
  explicit Model(std::size_t numbers)
      : windows_(static_cast<std::size_t>(size()), std::vector<Number>(numbers, 0)) {}

  const std::vector<Number>& window(int of) const { return windows_[static_cast<std::size_t>(of)]; }
  static Number value(const Edge& edge, const Piece& piece, std::uint64_t round, std::size_t i) {
    if (piece.what == What::add) return round + i;
    return stamp(edge.origin, round, piece.at + i);
  }
  void run(const Round& round, std::uint64_t number) {
    for (const Edge& edge : round.edges) {
      auto& target = windows_[static_cast<std::size_t>(edge.target)];
      for (const Piece& piece : edge.pieces) {
        for (std::size_t i = 0; i < piece.count && piece.what != What::get; ++i) {
          Number& place = target[piece.at + i];
          place = piece.what == What::add ? place + value(edge, piece, number, i)
                                          : value(edge, piece, number, i);
        }
      }
    }
  }

 private:
  std::vector<std::vector<Number>> windows_;
};

// One rank's part. Origins take their places in one allocation, as a GPU's driver may wait for the
// streams when it allocates.
class Actor {
 public:
  Actor(Window& window, std::size_t numbers, std::size_t most_listed)
      : window_(window), model_(numbers), origins_(most_listed) {}

  void enqueue(const Round& round, std::uint64_t number, Lane& posts, Lane& completes) {
    Ranks origins, targets;
    for (const Edge& edge : round.edges) {
      if (edge.target == rank()) origins.push_back(edge.origin);
      if (edge.origin == rank()) targets.push_back(edge.target);
    }
    if (!origins.empty()) window_.post(posts, origins);
    if (!targets.empty()) complete(round, number, targets, completes);
    const Model before = model_;
    model_.run(round, number);
    if (origins.empty()) return;
    window_.wait(posts);
    window_.fetch(posts);
    script_.run(posts, [this, expected = model_.window(rank())] {
      const auto found = window_.numbers();
      wrong_ += !std::equal(expected.begin(), expected.end(), found.begin());
    });
  }

  std::uint64_t wrong() const { return wrong_; }

 private:
  void complete(const Round& round, std::uint64_t number, const Ranks& targets, Lane& lane) {
    window_.start(targets);
    for (const Edge& edge : round.edges) {
      if (edge.origin != rank()) continue;
      for (const Piece& piece : edge.pieces) list(edge, piece, number, lane);
    }
    window_.complete(lane);
    for (const auto& [at, expected] : checks_) origins_.fetch(lane, at, expected.size());
    script_.run(lane, [this, checks = std::move(checks_)] {
      for (const auto& [at, expected] : checks)
        wrong_ += !std::equal(expected.begin(), expected.end(), &origins_[at]);
    });
    checks_.clear();
  }

  void list(const Edge& edge, const Piece& piece, std::uint64_t number, Lane& lane) {
    const std::size_t at = std::exchange(listed_, listed_ + piece.count);
    Number* const origin = origins_.data() + at;
    if (piece.what == What::get) {
      window_.get(origin, piece.count, edge.target, piece.at);
      const auto& of = model_.window(edge.target);
      const auto from = of.begin() + static_cast<std::ptrdiff_t>(piece.at);
      checks_.emplace_back(
          at, std::vector<Number>(from, from + static_cast<std::ptrdiff_t>(piece.count)));
      return;
    }
    if (piece.what == What::put)
      window_.put(origin, piece.count, edge.target, piece.at);
    else
      window_.add(origin, piece.count, edge.target, piece.at);
    script_.run(lane, [this, at, edge, piece, number] {
      for (std::size_t i = 0; i < piece.count; ++i)
        origins_[at + i] = Model::value(edge, piece, number, i);
    });
    origins_.send(lane, at, piece.count);
  }

  using Check = std::pair<std::size_t, std::vector<Number>>;  // where among the origins

  Window& window_;
  Model model_;
  Numbers origins_;
  std::size_t listed_ = 0;
  Script script_;
  std::vector<Check> checks_;
  std::atomic<std::uint64_t> wrong_ = 0;
};

// Exposure and access on one stream, or each on its own: then neither waits for the other.
void random_epochs(std::uint64_t salt, Memory memory, bool one_stream, std::uint64_t rounds) {
  auto random = generator(salt);
  const std::size_t part = 1 + random() % (random() % 4 == 0 ? 9000 : 200);
  const std::size_t shared = 1 + random() % 40;
  Plan plan(random(), part, shared);
  Window window(plan.numbers(), memory);
  Actor actor(window, plan.numbers(), rounds * static_cast<std::size_t>(size()) * (part + shared));
  Lane posts, own;
  Lane& completes = one_stream ? posts : own;
  for (std::uint64_t number = 1; number <= rounds; ++number) {
    if (random() % 10 == 0 && rank() == static_cast<int>(random() % static_cast<unsigned>(size())))
      enqueue_delay(random() % 2 == 0 ? posts : completes, 100);
    actor.enqueue(plan.next(), number, posts, completes);
    if (number % 8 == 0) {
      posts.finish();
      completes.finish();
    }
  }
  posts.finish();
  completes.finish();
  EXPECT_EQ(actor.wrong(), 0U) << "salt " << salt << ", " << name(memory)
                               << (one_stream ? ", one stream" : ", two streams");
}

TEST(RandomWindows, EveryNumberIsTheModels) {
  if (!windows_served()) GTEST_SKIP() << not_served;
  const std::uint64_t programs = long_run() ? 2000 : fewer_rounds(size() > 2 ? 3 : 12, 2);
  for (std::uint64_t program = 0; program < programs; ++program) {
    const bool other = program % 3 == 0 && reaches(Memory::ordinary) && goes_ahead();
    random_epochs(program, other ? window_memories().back() : window_memories().front(),
                  program % 2 == 0, 50);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace penstock::test
