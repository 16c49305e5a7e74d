// SPDX-License-Identifier: Apache-2.0
// The states that a search has found, breadth first: how each was reached first, and whether an end
// can be reached from all of them.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "protocol/explorer/visited.hpp"

namespace penstock::explorer {

// State: what is kept of one until its steps have been followed.
template <class State, class Step>
class Graph {
 public:
  using Way = std::vector<Step>;

  std::size_t size() const { return visited_.size(); }

  // A state to follow the steps of, which is the present one from here on.
  std::optional<State> next() {
    if (open_.empty()) return std::nullopt;
    ++followed_;
    State state = std::move(open_.front());
    open_.pop_front();
    return state;
  }

  // The step leads from the present state to this one. The first one is reached by no step.
  void add(const Fingerprint& print, const State& state, const Step& step, bool over) {
    const auto [number, fresh] = visited_.insert(print);
    if (followed_ > 0) edges_.emplace_back(number, present());
    if (!fresh) return;
    origins_.emplace_back(followed_ > 0 ? present() : 0, step);
    open_.push_back(state);
    if (over) ends_.push_back(number);
  }

  // The steps to the present state.
  Way way() const { return way_to(present()); }

  // The steps to a state from which no end can be reached.
  std::optional<Way> way_to_dead_end() {
    std::sort(edges_.begin(), edges_.end());
    std::vector<bool> reached(visited_.size(), false);
    std::vector<std::uint32_t> open = ends_;
    for (const std::uint32_t end : ends_) reached[end] = true;
    while (!open.empty()) {
      const std::uint32_t number = open.back();
      open.pop_back();
      for (auto edge = std::lower_bound(edges_.begin(), edges_.end(), Edge{number, 0});
           edge != edges_.end() && edge->first == number; ++edge) {
        if (reached[edge->second]) continue;
        reached[edge->second] = true;
        open.push_back(edge->second);
      }
    }
    const auto stuck = std::find(reached.begin(), reached.end(), false);
    if (stuck == reached.end()) return std::nullopt;
    return way_to(static_cast<std::uint32_t>(stuck - reached.begin()));
  }

 private:
  using Edge = std::pair<std::uint32_t, std::uint32_t>;  // to, from

  // States are followed in the order of their numbers.
  std::uint32_t present() const { return followed_ - 1; }
  Way way_to(std::uint32_t number) const {
    Way way;
    for (std::uint32_t at = number; at != 0; at = origins_[at].first)
      way.push_back(origins_[at].second);
    std::reverse(way.begin(), way.end());
    return way;
  }

  Visited visited_;
  std::deque<State> open_;
  std::uint32_t followed_ = 0;
  std::vector<std::pair<std::uint32_t, Step>> origins_;
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> ends_;
};

}  // namespace penstock::explorer
