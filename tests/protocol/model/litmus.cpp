// SPDX-License-Identifier: Apache-2.0
#include "protocol/model/litmus.hpp"

#include <string>
#include <unordered_set>

namespace penstock::explorer {

template <class Access>
Value LitmusThread::step(Access access) {
  if (position_ < log_.size()) return log_[position_++];
  if (performed_) {
    stopped_ = true;
    return 0;
  }
  performed_ = true;
  log_.push_back(access());
  ++position_;
  return log_.back();
}

Value LitmusThread::load(unsigned location, Order order) {
  return step([&] {
    choices_ = memory_.choices(thread_, location, order);
    return memory_.load(thread_, location, order, choice_);
  });
}

void LitmusThread::store(unsigned location, Order order, Value value) {
  step([&] {
    raced_ |= !memory_.store(thread_, location, order, value);
    return Value{0};
  });
}

void LitmusThread::overwrite(unsigned location, Order order, Value value) {
  step([&] {
    memory_.overwrite(thread_, location, order, value);
    return Value{0};
  });
}

Value LitmusThread::exchange(unsigned location, Order order, Value value) {
  return step([&] { return memory_.exchange(thread_, location, order, value); });
}

void LitmusThread::fence(Order order) {
  step([&] {
    memory_.fence(thread_, order);
    return Value{0};
  });
}

Value LitmusThread::read(unsigned cell) {
  return step([&] {
    Value value = 0;
    raced_ |= !memory_.read_cell(thread_, cell, &value);
    return value;
  });
}

void LitmusThread::write(unsigned cell, Value value) {
  step([&] {
    raced_ |= !memory_.write_cell(thread_, cell, value);
    return Value{0};
  });
}

namespace {

struct LitmusState {
  Memory memory;
  std::vector<std::vector<Value>> logs;
  std::vector<int> registers;
  std::uint8_t running;

  // Equal for states from which the same can happen.
  std::string bytes() const {
    std::string result(1, static_cast<char>(running));
    memory.append(result);
    for (const auto& log : logs) {
      result += static_cast<char>(log.size());
      for (const Value value : log) result += static_cast<char>(value);
    }
    for (const int value : registers) result += static_cast<char>(value);
    return result;
  }
};

using Seen = std::unordered_set<std::string>;

void explore(const std::vector<LitmusBody>& bodies, const LitmusState& state, Seen& seen,
             Outcomes& outcomes) {
  if (!seen.insert(state.bytes()).second) return;
  if (state.running == 0) {
    outcomes.insert(state.registers);
    return;
  }
  for (unsigned t = 0; t < bodies.size(); ++t) {
    if (!(state.running >> t & 1)) continue;
    for (unsigned choice = 0, choices = 1; choice < choices; ++choice) {
      LitmusState next = state;
      LitmusThread hands(next.memory, t, next.logs[t], choice);
      std::vector<int> registers = state.registers;
      bodies[t](hands, registers);
      choices = hands.choices();
      if (hands.raced()) {
        outcomes.insert({-1});
        continue;
      }
      if (!hands.stopped()) {
        next.registers = registers;
        next.running &= static_cast<std::uint8_t>(~(1u << t));
      }
      next.memory.settle(next.running);
      explore(bodies, next, seen, outcomes);
    }
  }
}

}  // namespace

Outcomes run_litmus(const Shape& shape, unsigned registers,
                    const std::vector<LitmusBody>& threads) {
  LitmusState state{Memory(shape), std::vector<std::vector<Value>>(threads.size()),
                    std::vector<int>(registers, 0),
                    static_cast<std::uint8_t>((1u << threads.size()) - 1)};
  Seen seen;
  Outcomes outcomes;
  explore(threads, state, seen, outcomes);
  return outcomes;
}

}  // namespace penstock::explorer
