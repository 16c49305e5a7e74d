// SPDX-License-Identifier: Apache-2.0
// All members and their memory as one value; where their words are in it; and what they send.
#pragma once

#include "protocol/delivery/world.hpp"
#include "protocol/epoch.hpp"
#include "protocol/model/replay.hpp"

namespace penstock::explorer::deliveries {

using protocol::Epoch;

// What a member does next.
enum class At : std::uint8_t { start, wait, ask, close, leave, finished, dead };

struct Actor {
  At at = At::start;
  std::uint8_t done = 0;  // delivery::State
  std::array<std::uint8_t, most_members> served{};
  // The first epoch that nobody who has to do with this member may end, since it has failed; 0: it
  // has not.
  std::uint8_t fails_from = 0;
  std::uint8_t has_left = 0;    // its program has its buffer back
  std::uint8_t strayed_by = 0;  // bit m: member m has copied into it since
  std::uint8_t copy_failed = 0;
  Log log;
};

struct State {
  Memory memory;
  std::array<Actor, max_threads> actors{};
};

class Places {
 public:
  explicit Places(const Scenario& scenario) : members_(scenario.members) {}

  unsigned cts(unsigned at, unsigned by) const { return pair(at, by); }
  unsigned done(unsigned at, unsigned by) const { return pairs() + pair(at, by); }
  unsigned closed(unsigned at, unsigned by) const { return 2 * pairs() + pair(at, by); }
  unsigned dead(unsigned member) const { return 3 * pairs() + member; }
  unsigned words() const { return dead(members_); }
  // Data: of the receive buffer at one member, what another one has for it. In place, what it has
  // for that one.
  unsigned block(unsigned at, unsigned from) const { return pair(at, from); }
  unsigned blocks() const { return pairs(); }

 private:
  unsigned pairs() const { return members_ * (members_ - 1); }
  unsigned pair(unsigned at, unsigned by) const {
    return at * (members_ - 1) + by - (by > at ? 1 : 0);
  }

  unsigned members_;
};

constexpr Value no_data = 31;

// Of the epochs that a member may meet, each has its own.
inline Value contribution(unsigned from, unsigned to, Epoch epoch) {
  return static_cast<Value>((4 * epoch + 7 * from + 11 * to + 1) % no_data);
}

}  // namespace penstock::explorer::deliveries
