// SPDX-License-Identifier: Apache-2.0
// Visits every state that a scenario can reach, breadth first, and asks of each that the end can be
// reached from it.
#include <utility>

#include "protocol/explorer/graph.hpp"
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
    State first;
    first.memory = Memory(shape_);
    add(first, {});
    for (auto state = graph_.next(); state && result_.ok(); state = graph_.next()) expand(*state);
    result_.states = graph_.size();
    if (!result_.ok()) return result_;
    if (const auto way = graph_.way_to_dead_end()) fail("cannot end from here", *way);
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
                                  unsigned{actor.log.size}})
        bytes.push_back(static_cast<char>(byte));
      bytes.append(reinterpret_cast<const char*>(actor.log.values.data()), actor.log.size);
    }
    const Truth& truth = state.truth;
    bytes.push_back(static_cast<char>(truth.closed));
    bytes.push_back(static_cast<char>(truth.lost | truth.told * 2 | truth.reused * 4));
    return bytes;
  }

  void add(const State& state, const Step& step) {
    bool over = true;
    for (unsigned t = 0; t < threads_; ++t) over = over && !running(state, t);
    graph_.add(fingerprint(save(state)), state, step, over);
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
      const Log log = actor.log;
      actor = before;
      actor.log = log;
    } else {
      actor.at = next;
      actor.log.size = 0;
    }
    std::uint8_t left = 0;
    for (unsigned t = 0; t < threads_; ++t)
      if (running(state, t)) left |= static_cast<std::uint8_t>(1u << t);
    state.memory.settle(left);
    if (hands.fault != nullptr) return hands.fault;
    if (state.memory.overflow()) return "the model holds too few values";
    return actor.log.size == most_accesses ? "a call makes more accesses than can be recorded"
                                           : nullptr;
  }

  void expand(const State& state) {
    if (graph_.size() > state_limit) return fail("more states than the limit allows", graph_.way());
    for (unsigned t = 0; t < threads_ && result_.ok(); ++t) {
      if (!running(state, t)) continue;
      const Actor& actor = state.actors[t];
      const bool follows = scenario_.impatient && t != 0;
      const bool waits =
          is_peer(t) ? actor.at == PeerAt::wait : follows && actor.at == BlockAt::poll;
      const bool may_be_released = waits && actor.log.size == 0;
      for (unsigned choice = 0, choices = 1; choice < choices; ++choice)
        follow(state, {static_cast<std::uint8_t>(t), static_cast<std::uint8_t>(choice), false},
               choices);
      if (may_be_released) {
        unsigned one = 1;
        follow(state, {static_cast<std::uint8_t>(t), 0, true}, one);
      }
    }
  }

  void follow(const State& state, const Step& step, unsigned& choices) {
    if (!result_.ok()) return;
    State next = state;
    const char* fault = apply(next, step, choices);
    if (fault == nullptr) return add(next, step);
    auto way = graph_.way();
    way.push_back(step);
    fail(fault, way);
  }

  void fail(const char* what, const std::vector<Step>& way) {
    result_.failure = std::string(what) + "\n";
    State state;
    state.memory = Memory(shape_);
    for (const Step& step : way) {
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
  Graph<State, Step> graph_;
};

}  // namespace

Result explore(const Scenario& scenario) {
  return Search(scenario).run();
}

}  // namespace penstock::explorer::teams
