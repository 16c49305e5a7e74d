// SPDX-License-Identifier: Apache-2.0
// Visits every state that a scenario can reach, breadth first, and asks of each that the end can be
// reached from it.
#include <algorithm>
#include <deque>
#include <utility>

#include "protocol/explorer/visited.hpp"
#include "protocol/team/block.hpp"

namespace penstock::explorer::teams {

namespace {

constexpr std::size_t state_limit = 20'000'000;

// A thread's next access, or that the peer or a block is released from its wait; and which value a
// load takes.
struct Step {
  std::uint8_t thread = 0;
  std::uint8_t choice = 0;
  bool release = false;
};

class Search {
 public:
  explicit Search(const Scenario& scenario) : scenario_(scenario), threads_(scenario.blocks + 1) {
    const auto blocks = static_cast<std::uint8_t>((1u << scenario.blocks) - 1),
               peer = static_cast<std::uint8_t>(1u << scenario.blocks);
    shape_.threads = threads_;
    shape_.locations = Places::count;
    shape_.cells = scenario.parts;
    shape_.fences = shape_.mixed_fences = true;
    shape_.readers.fill(static_cast<std::uint8_t>(blocks | peer));
    for (const unsigned place : {Places::ready, Places::command, Places::given_up,
                                 Places::closed_by_peer, Places::started})
      shape_.readers[place] = blocks;
    for (const unsigned place : {Places::closed_by_us, Places::gone}) shape_.readers[place] = peer;
    for (unsigned part = 0; part < most_parts; ++part) shape_.readers[Places::said + part] = peer;
    for (const unsigned place : {Places::ended, Places::through, Places::told})
      shape_.exchange_only[place] = true;
  }

  Result run() {
    State state;
    state.memory = Memory(shape_);
    add(state, 0, {});
    for (std::uint32_t number = 0; !frontier_.empty() && result_.ok(); ++number) {
      state = frontier_.front();
      frontier_.pop_front();
      expand(state, number);
    }
    result_.states = visited_.size();
    if (result_.ok()) check_ends_reachable();
    return result_;
  }

 private:
  bool running(const State& state, unsigned thread) const {
    return state.actors[thread].at != finished;
  }
  bool is_peer(unsigned thread) const { return thread == scenario_.blocks; }

  std::string save(const State& state) const {
    std::string bytes;
    state.memory.append(bytes);
    for (unsigned t = 0; t < threads_; ++t) {
      const Actor& actor = state.actors[t];
      for (const unsigned byte : {unsigned{actor.at}, unsigned{actor.epoch},
                                  actor.willing | actor.given_up * 2u | actor.late * 4u |
                                      actor.tells_host * 8u | actor.untold * 16u,
                                  unsigned{actor.size}})
        bytes.push_back(static_cast<char>(byte));
      bytes.append(reinterpret_cast<const char*>(actor.log.data()), actor.size);
    }
    const Truth& truth = state.truth;
    bytes.push_back(static_cast<char>(truth.closed));
    bytes.push_back(static_cast<char>(truth.lost | truth.told * 2 | truth.reused * 4));
    return bytes;
  }

  std::uint32_t add(const State& state, std::uint32_t from, const Step& step) {
    const auto [number, fresh] = visited_.insert(fingerprint(save(state)));
    if (!fresh) return number;
    origins_.emplace_back(from, step);
    frontier_.push_back(state);
    bool over = true;
    for (unsigned t = 0; t < threads_; ++t) over = over && !running(state, t);
    if (over) ends_.push_back(number);
    return number;
  }

  // Null, or what is wrong.
  const char* apply(State& state, const Step& step, unsigned& choices,
                    std::string* text = nullptr) const {
    Actor& actor = state.actors[step.thread];
    if (step.release) {
      actor.at = is_peer(step.thread) ? PeerAt::close : BlockAt::alone;
      return nullptr;
    }
    const Actor before = actor;
    Hands hands(state, step.thread, step.choice, text);
    const std::uint8_t next =
        is_peer(step.thread) ? call_peer(scenario_, hands) : call_block(scenario_, hands);
    choices = hands.choices;
    if (hands.stopped) {
      const auto size = actor.size;
      const auto log = actor.log;
      actor = before;
      actor.size = size;
      actor.log = log;
    } else {
      actor.at = next;
      actor.size = 0;
    }
    std::uint8_t left = 0;
    for (unsigned t = 0; t < threads_; ++t)
      if (running(state, t)) left |= static_cast<std::uint8_t>(1u << t);
    state.memory.settle(left);
    if (hands.fault != nullptr) return hands.fault;
    if (state.memory.overflow()) return "the model holds too few values";
    return actor.size == most_accesses ? "a call makes more accesses than can be recorded"
                                       : nullptr;
  }

  void expand(const State& state, std::uint32_t number) {
    if (visited_.size() > state_limit) return fail("more states than the limit allows", number);
    for (unsigned t = 0; t < threads_ && result_.ok(); ++t) {
      if (!running(state, t)) continue;
      const Actor& actor = state.actors[t];
      const bool follows = scenario_.impatient && t != 0;
      const bool waits =
          is_peer(t) ? actor.at == PeerAt::wait : follows && actor.at == BlockAt::poll;
      const bool may_be_released = waits && actor.size == 0;
      for (unsigned choice = 0, choices = 1; choice < choices; ++choice)
        follow(state, number,
               {static_cast<std::uint8_t>(t), static_cast<std::uint8_t>(choice), false}, choices);
      if (may_be_released) {
        unsigned one = 1;
        follow(state, number, {static_cast<std::uint8_t>(t), 0, true}, one);
      }
    }
  }

  void follow(const State& state, std::uint32_t number, const Step& step, unsigned& choices) {
    if (!result_.ok()) return;
    State next = state;
    if (const char* fault = apply(next, step, choices)) return fail(fault, number, &step);
    edges_.emplace_back(add(next, number, step), number);
  }

  void check_ends_reachable() {
    std::sort(edges_.begin(), edges_.end());
    std::vector<bool> reached(visited_.size(), false);
    std::vector<std::uint32_t> open = ends_;
    for (const std::uint32_t end : ends_) reached[end] = true;
    while (!open.empty()) {
      const std::uint32_t number = open.back();
      open.pop_back();
      for (auto edge = std::lower_bound(edges_.begin(), edges_.end(), std::pair{number, 0u});
           edge != edges_.end() && edge->first == number; ++edge) {
        if (reached[edge->second]) continue;
        reached[edge->second] = true;
        open.push_back(edge->second);
      }
    }
    const auto stuck = std::find(reached.begin(), reached.end(), false);
    if (stuck != reached.end())
      fail("cannot end from here", static_cast<std::uint32_t>(stuck - reached.begin()));
  }

  void fail(const char* what, std::uint32_t number, const Step* last = nullptr) {
    std::vector<Step> path;
    if (last != nullptr) path.push_back(*last);
    for (std::uint32_t at = number; at != 0; at = origins_[at].first)
      path.push_back(origins_[at].second);
    std::reverse(path.begin(), path.end());
    result_.failure = std::string(what) + "\n";
    State state;
    state.memory = Memory(shape_);
    for (const Step& step : path) {
      const Actor& actor = state.actors[step.thread];
      std::string line = (is_peer(step.thread) ? std::string("  peer")
                                               : "  block " + std::to_string(step.thread)) +
                         ", epoch " + std::to_string(actor.epoch) + ": ";
      unsigned choices = 1;
      apply(state, step, choices, &line);
      result_.failure += line + (step.release ? "is released" : "") + "\n";
    }
  }

  const Scenario& scenario_;
  const unsigned threads_;
  Shape shape_;
  Result result_;
  Visited visited_;
  std::deque<State> frontier_;
  std::vector<std::pair<std::uint32_t, Step>> origins_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;  // to, from
  std::vector<std::uint32_t> ends_;
};

}  // namespace

Result explore(const Scenario& scenario) {
  return Search(scenario).run();
}

}  // namespace penstock::explorer::teams
