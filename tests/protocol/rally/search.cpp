// SPDX-License-Identifier: Apache-2.0
// Visits every state that a scenario can reach, breadth first, and asks of each that the end can be
// reached from it.
#include <cstring>

#include "protocol/explorer/graph.hpp"
#include "protocol/rally/member.hpp"

namespace penstock::explorer::rallies {

namespace {

constexpr std::size_t state_limit = 20'000'000;

// A thread's next access, and which value a load takes; or what happens to it in its wait; or its
// process ends.
enum class Move : std::uint8_t { access, ask, release, die };

struct Step {
  std::uint8_t thread = 0;
  std::uint8_t choice = 0;
  Move move = Move::access;
};

class Search {
 public:
  explicit Search(const Scenario& scenario)
      : scenario_(scenario), places_(scenario), threads_(scenario.members * scenario.blocks) {
    shape_.threads = threads_;
    shape_.cells = scenario.form == Form::lines ? places_.cells() : 0;
    shape_.locations = places_.words();
    set_readers();
  }

  Result run() {
    if (shape_.locations > max_locations) return {0, "the model holds too few words"};
    add(first(), {});
    for (auto bytes = graph_.next(); bytes && result_.ok(); bytes = graph_.next()) {
      restore(*bytes);
      follow_all();
    }
    result_.states = graph_.size();
    if (!result_.ok()) return result_;
    if (const auto way = graph_.way_to_dead_end()) fail("cannot end from here", *way);
    return result_;
  }

 private:
  void set_readers() {
    const unsigned all = (1u << threads_) - 1;
    shape_.readers.fill(static_cast<std::uint8_t>(all));
    for (unsigned at = 0; at < scenario_.members; ++at) {
      const unsigned blocks = ((1u << scenario_.blocks) - 1) << at * scenario_.blocks;
      const auto readers = static_cast<std::uint8_t>(blocks);
      for (unsigned from = 0; from < scenario_.members; ++from) {
        if (from == at) continue;
        for (unsigned flight = 0; flight < scenario_.flights; ++flight)
          for (unsigned i = 0; i < 2 * places_.lines(); ++i)
            shape_.readers[places_.line(flight, at, from, 0, i)] = readers;
        if (scenario_.closes) shape_.readers[places_.closed(at, from)] = readers;
      }
      if (scenario_.blocks > 1) shape_.exchange_only[places_.ended(at)] = true;
    }
  }

  std::string save(const State& state) const {
    static_assert(std::has_unique_object_representations_v<Actor>);
    std::string bytes;
    bytes.reserve(1024);
    state.memory.append(bytes);
    bytes.append(reinterpret_cast<const char*>(state.actors.data()), threads_ * sizeof(Actor));
    return bytes;
  }
  void restore(const std::string& bytes) {
    const auto* rest = present_.memory.restore(reinterpret_cast<const std::uint8_t*>(bytes.data()));
    std::memcpy(present_.actors.data(), rest, threads_ * sizeof(Actor));
  }
  State first() const {
    State state{Memory(shape_), {}};
    for (unsigned cell = 0; cell < shape_.cells; ++cell) state.memory.preset_cell(cell, no_data);
    return state;
  }

  static bool runs(const Actor& actor) { return actor.at != At::finished && actor.at != At::dead; }
  std::uint8_t running(const State& state) const {
    std::uint8_t left = 0;
    for (unsigned t = 0; t < threads_; ++t)
      if (runs(state.actors[t])) left |= static_cast<std::uint8_t>(1u << t);
    return left;
  }

  void add(const State& state, const Step& step) {
    const std::string bytes = save(state);
    graph_.add(fingerprint(bytes), bytes, step, running(state) == 0);
  }

  // Null, or what is wrong.
  const char* apply(State& state, const Step& step, unsigned& choices,
                    std::string* text = nullptr) const {
    Actor& actor = state.actors[step.thread];
    switch (step.move) {
      case Move::ask:
        actor.at = At::ask;
        return nullptr;
      case Move::release:
        release(scenario_, actor);
        return nullptr;
      case Move::die:
        // Who sees it sees all that the process has stored.
        state.memory.store(step.thread, places_.dead(step.thread), Order::release, 1);
        actor.at = At::dead;
        actor.log = {};
        actor.fails_from = static_cast<std::uint8_t>(actor.done + 2);
        state.memory.settle(running(state));
        return nullptr;
      default:
        return access(state, step, choices, text);
    }
  }

  const char* access(State& state, const Step& step, unsigned& choices, std::string* text) const {
    Actor& actor = state.actors[step.thread];
    const Actor before = actor;
    Replay hands(state.memory, step.thread, actor.log, step.choice, text);
    const At next = call_member(scenario_, state, hands);
    choices = hands.choices;
    if (hands.stopped) {
      const Log log = actor.log;
      actor = before;
      actor.log = log;
    } else {
      actor.at = next;
      actor.log = {};
    }
    state.memory.settle(running(state));
    if (hands.fault != nullptr) return hands.fault;
    if (state.memory.overflow()) return "the model holds too few values";
    return actor.log.size == most_accesses ? "a call makes more accesses than can be recorded"
                                           : nullptr;
  }

  void follow_all() {
    if (graph_.size() > state_limit) return fail("more states than the limit allows", graph_.way());
    bool one_is_dead = false;
    for (const Actor& actor : present_.actors) one_is_dead = one_is_dead || actor.at == At::dead;
    for (unsigned t = 0; t < threads_; ++t) {
      const Actor& actor = present_.actors[t];
      const auto thread = static_cast<std::uint8_t>(t);
      if (!runs(actor)) continue;
      for (unsigned choice = 0, choices = 1; choice < choices; ++choice)
        follow({thread, static_cast<std::uint8_t>(choice), Move::access}, choices);
      unsigned one = 1;
      const unsigned member = 1u << t / scenario_.blocks;
      const bool looks = actor.at == At::wait && actor.log.size == 0;
      if (looks && (scenario_.may_fail | scenario_.may_die) != 0)
        follow({thread, 0, Move::ask}, one);
      if (looks && (scenario_.may_fail & member) != 0) follow({thread, 0, Move::release}, one);
      if (!one_is_dead && (scenario_.may_die & member) != 0) follow({thread, 0, Move::die}, one);
    }
  }

  void follow(const Step& step, unsigned& choices) {
    if (!result_.ok()) return;
    next_ = present_;
    const char* fault = apply(next_, step, choices);
    if (fault == nullptr) return add(next_, step);
    auto way = graph_.way();
    way.push_back(step);
    fail(fault, way);
  }

  void fail(const char* what, const std::vector<Step>& way) {
    constexpr const char* moves[] = {"", "asks", "is released", "dies"};
    result_.failure = std::string(what) + "\n";
    State state = first();
    for (const Step& step : way) {
      const unsigned epoch = state.actors[step.thread].done + 1u;
      std::string line = "  thread " + std::to_string(step.thread) + ", epoch " +
                         std::to_string(epoch) + ": " + moves[static_cast<unsigned>(step.move)];
      unsigned choices = 1;
      apply(state, step, choices, &line);
      result_.failure += line + "\n";
    }
  }

  const Scenario& scenario_;
  const Places places_;
  const unsigned threads_;
  Shape shape_;
  State present_{Memory(shape_), {}}, next_{Memory(shape_), {}};  // copied over and over
  Result result_;
  Graph<std::string, Step> graph_;
};

}  // namespace

Result explore(const Scenario& scenario) {
  return Search(scenario).run();
}

}  // namespace penstock::explorer::rallies
