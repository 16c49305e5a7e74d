// SPDX-License-Identifier: Apache-2.0
#include "protocol/explorer/search.hpp"

#include <algorithm>
#include <deque>

#include "protocol/explorer/visited.hpp"

namespace penstock::explorer {

namespace {

constexpr std::size_t state_limit = 30'000'000;

// How a state was reached first.
struct Origin {
  std::uint32_t from = 0;
  std::uint8_t thread = 0;
  std::uint8_t choice = 0;
  Move move;
};

Activity activity_of(Move::Kind kind) {
  switch (kind) {
    case Move::Kind::start:
      return Activity::start;
    case Move::Kind::ask:
      return Activity::ask;
    case Move::Kind::release:
      return Activity::release;
    case Move::Kind::close:
      return Activity::close;
    default:
      return Activity::wait;
  }
}

const char* name_of(Activity activity) {
  constexpr const char* names[] = {"none", "start", "wait", "hopeless?", "released", "close"};
  return names[static_cast<unsigned>(activity)];
}

class Search {
 public:
  Search(const Scenario& scenario, const World& world, Liveness liveness)
      : scenario_(scenario), world_(world), liveness_(liveness) {}

  Result run() {
    state_ = world_.initial();
    add(state_, {});
    for (std::uint32_t number = 0; !frontier_.empty() && result_.ok(); ++number) {
      world_.restore(frontier_.front(), state_);
      frontier_.pop_front();
      expand(number);
    }
    result_.states = visited_.size();
    if (result_.ok() && liveness_ == Liveness::programs) check_ends_reachable();
    return result_;
  }

 private:
  std::uint32_t add(const State& state, const Origin& origin) {
    std::string bytes = world_.save(state);
    const auto [number, fresh] = visited_.insert(fingerprint(bytes));
    if (!fresh) return number;
    origins_.push_back(origin);
    frontier_.push_back(std::move(bytes));
    if (liveness_ == Liveness::programs && world_.finished(state)) ends_.push_back(number);
    return number;
  }

  void expand(std::uint32_t number) {
    if (const char* fault = world_.check_progress(state_)) return fail(fault, number);
    if (visited_.size() > state_limit) return fail("more states than the limit allows", number);
    for (unsigned t = 0; t < world_.threads(); ++t) {
      world_.moves(state_, t, moves_);
      for (const Move& move : moves_) {
        for (unsigned choice = 0, choices = 1; choice < choices; ++choice) {
          next_ = state_;
          const Effect effect = world_.apply(next_, t, move, choice);
          choices = effect.choices;
          ++result_.steps;
          const Origin origin{number, static_cast<std::uint8_t>(t),
                              static_cast<std::uint8_t>(choice), move};
          if (effect.fault != nullptr) return fail(effect.fault, number, &origin);
          const std::uint32_t to = add(next_, origin);
          if (liveness_ == Liveness::programs && to != number) edges_.emplace_back(to, number);
        }
      }
    }
  }

  // Every state must be found when walking the steps backwards from the ends.
  void check_ends_reachable() {
    std::sort(edges_.begin(), edges_.end());
    std::vector<std::uint8_t> reached(visited_.size(), 0);
    std::vector<std::uint32_t> open = ends_;
    for (std::uint32_t end : ends_) reached[end] = 1;
    while (!open.empty()) {
      const std::uint32_t number = open.back();
      open.pop_back();
      for (auto edge = std::lower_bound(edges_.begin(), edges_.end(), std::pair{number, 0u});
           edge != edges_.end() && edge->first == number; ++edge) {
        if (reached[edge->second]) continue;
        reached[edge->second] = 1;
        open.push_back(edge->second);
      }
    }
    const auto stuck = std::find(reached.begin(), reached.end(), 0);
    if (stuck != reached.end())
      fail("the programs cannot end from here (deadlock or livelock)",
           static_cast<std::uint32_t>(stuck - reached.begin()));
  }

  void fail(const char* what, std::uint32_t number, const Origin* last = nullptr) {
    std::vector<Origin> path;
    if (last != nullptr) path.push_back(*last);
    for (std::uint32_t at = number; at != 0; at = origins_[at].from) path.push_back(origins_[at]);
    std::reverse(path.begin(), path.end());
    result_.failure = scenario_.name + ": " + what + "\n";
    for (const PairSpec& spec : scenario_.pairs)
      result_.failure += "  pair: " + describe(spec) + "\n";
    for (std::size_t t = 0; t < scenario_.threads.size(); ++t)
      result_.failure +=
          "  thread " + std::to_string(t) + ": " +
          (scenario_.threads[t].any_order.empty() ? scenario_.threads[t].program : "any order") +
          "\n";
    State state = world_.initial();
    for (const Origin& step : path) result_.failure += "  " + replay(state, step) + "\n";
  }

  std::string replay(State& state, const Origin& step) {
    const Thread& thread = state.threads[step.thread];
    const bool resumes = step.move.kind == Move::Kind::resume;
    const unsigned endpoint = resumes ? thread.endpoint : step.move.endpoint;
    std::string text, line = "thread " + std::to_string(step.thread) + " ";
    switch (step.move.kind) {
      case Move::Kind::record:
        line += "records an event";
        break;
      case Move::Kind::await:
        line += "sees an event";
        break;
      case Move::Kind::zero:
        line += "zeroes the block of a pair";
        break;
      case Move::Kind::renew:
        line += "begins a pair again";
        break;
      default:
        line += std::string(name_of(resumes ? thread.activity : activity_of(step.move.kind))) +
                "(" + (side_of(endpoint) == Side::sender ? "send " : "receive ") +
                std::to_string(pair_of(endpoint) + 1) + ", epoch " +
                std::to_string(state.endpoints[endpoint].ended + 1) + "): ";
    }
    const Effect effect = world_.apply(state, step.thread, step.move, step.choice, &text);
    line += line.back() == ' ' && text.empty() ? "no access" : text;
    if (effect.fault != nullptr) line += std::string(" <- ") + effect.fault;
    return line;
  }

  const Scenario& scenario_;
  const World& world_;
  Liveness liveness_;
  Result result_;
  Visited visited_;
  std::deque<std::string> frontier_;
  std::vector<Origin> origins_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges_;  // to, from
  std::vector<std::uint32_t> ends_;
  std::vector<Move> moves_;
  State state_, next_;
};

}  // namespace

Result explore(const Scenario& scenario, Liveness liveness, MakePort make_port) {
  std::vector<Machine> machines;
  for (const PairSpec& spec : scenario.pairs) machines.push_back(machine_for(spec));
  return explore(scenario, liveness, machines, make_port);
}

Result explore(const Scenario& scenario, Liveness liveness, const std::vector<Machine>& machines,
               MakePort make_port) {
  const World world(scenario, machines, make_port);
  return Search(scenario, world, liveness).run();
}

}  // namespace penstock::explorer
