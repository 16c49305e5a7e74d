// SPDX-License-Identifier: Apache-2.0
// Visits every state that the members of a group can reach over the memory model, breadth first,
// and asks of each that the end can be reached from it.
#pragma once

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "protocol/explorer/graph.hpp"
#include "protocol/group_result.hpp"
#include "protocol/model/memory.hpp"
#include "protocol/model/replay.hpp"

namespace penstock::explorer {

// World: what the members do. It has State {memory, actors}, whose actors say where they are (At,
// of which wait, ask, finished and dead are known here), which epochs they have done, and hold the
// log of their present call; and it gives
//   shape(), threads(), member_of(thread), dead(member)   the memory, and who uses it
//   prepare(state)                                        the memory before the first step
//   call(state, hands)                                    the next access of a thread's call
//   release(actor)                                        its wait is given up
//   may_fail(), may_die()                                 bit m: of member m
//   may_be_hopeless()                                     whether a wait may have to ask
template <class World>
class GroupSearch {
  using State = typename World::State;
  using Actor = typename World::Actor;
  using At = typename World::At;

  static constexpr std::size_t state_limit = 20'000'000;

  // A thread's next access, and which value a load takes; or what happens to it in its wait; or its
  // process ends.
  enum class Move : std::uint8_t { access, ask, release, die };

  struct Step {
    std::uint8_t thread = 0;
    std::uint8_t choice = 0;
    Move move = Move::access;
  };

 public:
  explicit GroupSearch(const World& world)
      : world_(world), threads_(world.threads()), shape_(world.shape()) {}

  GroupResult run() {
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
    world_.prepare(state);
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
        world_.release(actor);
        return nullptr;
      case Move::die:
        // Who sees it sees all that the process has stored.
        state.memory.store(step.thread, world_.dead(step.thread), Order::release, 1);
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
    const At next = world_.call(state, hands);
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
      const unsigned member = 1u << world_.member_of(t);
      const bool looks = actor.at == At::wait && actor.log.size == 0;
      if (looks && world_.may_be_hopeless()) follow({thread, 0, Move::ask}, one);
      if (looks && (world_.may_fail() & member) != 0) follow({thread, 0, Move::release}, one);
      if (!one_is_dead && (world_.may_die() & member) != 0) follow({thread, 0, Move::die}, one);
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

  const World& world_;
  const unsigned threads_;
  const Shape shape_;
  State present_{Memory(shape_), {}}, next_{Memory(shape_), {}};  // copied over and over
  GroupResult result_;
  Graph<std::string, Step> graph_;
};

}  // namespace penstock::explorer
