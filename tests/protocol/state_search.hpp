// SPDX-License-Identifier: Apache-2.0
// Goes through every state that a small model can reach. A state is bytes alone, so that states can
// be compared and kept as they lie in memory.
#pragma once

#include <cstring>
#include <deque>
#include <string>
#include <type_traits>
#include <unordered_set>

namespace penstock::protocol {

// The model derives from it: step() offers each next state of now_ to go(), or finds a fault.
template <class State>
class StateSearch {
  static_assert(std::has_unique_object_representations_v<State>);

 public:
  virtual ~StateSearch() = default;

  // The first fault, in the order of the search; empty: there is none.
  std::string search() {
    go(State{});
    while (!open_.empty() && fault_.empty()) {
      now_ = open_.front();
      open_.pop_front();
      moves_ = 0;
      step();
      if (moves_ == 0 && !may_end()) fault("stuck");
    }
    return fault_;
  }
  std::size_t states() const { return seen_.size(); }

 protected:
  virtual void step() = 0;
  virtual bool may_end() const = 0;  // nothing moves in now_, and nothing has to

  void go(const State& next) {
    ++moves_;
    std::string bytes(sizeof next, '\0');
    std::memcpy(bytes.data(), &next, sizeof next);
    if (seen_.insert(std::move(bytes)).second) open_.push_back(next);
  }
  void fault(const std::string& what) {
    ++moves_;
    if (fault_.empty()) fault_ = what;
  }

  State now_{};

 private:
  int moves_ = 0;
  std::string fault_;
  std::deque<State> open_;
  std::unordered_set<std::string> seen_;
};

}  // namespace penstock::protocol
