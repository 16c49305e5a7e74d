// SPDX-License-Identifier: Apache-2.0
// All members and their memory as one value; where their words are in it; and what they send.
#pragma once

#include <algorithm>

#include "protocol/epoch.hpp"
#include "protocol/model/replay.hpp"
#include "protocol/rally/world.hpp"

namespace penstock::explorer::rallies {

using protocol::Epoch;

// What a thread, a block of a member, does next.
enum class At : std::uint8_t { start, enter, wait, ask, close, leave, finished, dead };

struct Actor {
  At at = At::start;
  std::uint8_t done = 0, line = 0, sent = 0, combined = 0;  // rally::State
  // What its lines have been combined to.
  std::array<Value, 2> sum{};
  // The first epoch that nobody may end, since this member has failed; 0: it has not.
  std::uint8_t fails_from = 0;
  Log log;
};

struct State {
  Memory memory;
  std::array<Actor, max_threads> actors{};
};

class Places {
 public:
  explicit Places(const Scenario& scenario)
      : members_(scenario.members),
        lines_(std::max<unsigned>(1, most_lines(scenario))),
        cells_(scenario.flights * pairs() * 2 * lines_),
        words_(scenario.closes || scenario.blocks > 1 ? dead(members_) : cells_) {}

  // Of the slots at one member for another one; of data, too.
  unsigned line(unsigned flight, unsigned at, unsigned from, unsigned slot, unsigned line) const {
    return ((flight * pairs() + pair(at, from)) * 2 + slot) * lines_ + line;
  }
  unsigned closed(unsigned at, unsigned by) const { return cells_ + pair(at, by); }
  unsigned dead(unsigned member) const { return cells_ + pairs() + member; }
  unsigned ended(unsigned member) const { return dead(member); }  // kernels do not die
  unsigned cells() const { return cells_; }
  unsigned words() const { return words_; }
  unsigned lines() const { return lines_; }

 private:
  static unsigned most_lines(const Scenario& scenario) {
    unsigned most = 0;
    for (const auto& row : scenario.lines)
      for (unsigned to = 0; to < scenario.members; ++to) most = std::max<unsigned>(most, row[to]);
    return most;
  }
  unsigned pairs() const { return members_ * (members_ - 1); }
  unsigned pair(unsigned at, unsigned from) const {
    return at * (members_ - 1) + from - (from > at ? 1 : 0);
  }

  unsigned members_, lines_, cells_, words_;
};

// Data of five bits, so that a cell's fit into one of the model's words beside its flag.
constexpr Value no_data = 31;
constexpr unsigned data_bits = 5;

// Of the epochs that a member may meet, each has its own.
inline Value contribution(unsigned from, unsigned to, Epoch epoch, unsigned line) {
  return static_cast<Value>((4 * epoch + 7 * from + 11 * to + 17 * line + 1) % no_data);
}
// Depends on the order.
inline Value combine(Value sum, Value next) {
  return static_cast<Value>((5 * sum + next + 1) % no_data);
}
inline Value combined(const Scenario& scenario, unsigned to, Epoch epoch, unsigned line) {
  Value sum = 0;
  for (unsigned from = 0; from < scenario.members; ++from)
    if (line < scenario.lines[from][to]) sum = combine(sum, contribution(from, to, epoch, line));
  return sum;
}

}  // namespace penstock::explorer::rallies
