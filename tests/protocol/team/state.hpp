// SPDX-License-Identifier: Apache-2.0
// All blocks, the peer and their memory as one value, and the hands with which a thread makes its
// next access.
#pragma once

#include "protocol/model/replay.hpp"
#include "protocol/port.hpp"
#include "protocol/team/world.hpp"

namespace penstock::explorer::teams {

using protocol::Epoch;

constexpr unsigned most_parts = 3;

struct Actor {
  std::uint8_t at = 0;
  std::uint8_t epoch = 1;
  bool willing = true;  // what a block's first poll has found
  bool given_up = false;
  bool untold = false;
  bool tells_host = false;
  bool late = false;  // it has come after the peer had closed, and has not looked
  Log log;
};

// What no processor sees.
struct Truth {
  std::uint8_t closed = 0;  // the peer: from which epoch on, and it is through with its closing
  bool lost = false;        // a part of the present epoch has gone to a peer that had closed
  bool told = false;        // this end's user knows of a failure
  bool reused = false;      // the words in the peer's memory serve another pair
};

struct State {
  Memory memory;
  std::array<Actor, max_threads> actors{};
  Truth truth;
};

// Where the words and buffers are in the model's memory.
struct Places {
  static constexpr unsigned ready = 0, command = 1, given_up = 2, closed_by_peer = 3,
                            closed_by_us = 4, gone = 5;
  static constexpr unsigned started = 6, ended = 7, through = 8, told = 9, queue_failed = 10,
                            said = 11, buffer = said + most_parts;
  static constexpr unsigned count = buffer + most_parts;  // the buffer is the peer's; ours is cells
};

class Hands : public Replay {
 public:
  Hands(State& all, unsigned number, unsigned choice, std::string* text)
      : Replay(all.memory, number, all.actors[number].log, choice, text),
        state(all),
        actor(all.actors[number]) {}

  Value read_own(unsigned part);
  void write_own(unsigned part, Value value);

  State& state;
  Actor& actor;
};

}  // namespace penstock::explorer::teams
