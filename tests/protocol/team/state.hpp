// SPDX-License-Identifier: Apache-2.0
// All blocks, the peer and their memory as one value, and the hands with which a thread makes its
// next access.
#pragma once

#include "protocol/port.hpp"
#include "protocol/team/world.hpp"

namespace penstock::explorer::teams {

using protocol::Epoch;

constexpr unsigned most_parts = 3;
constexpr unsigned most_accesses = 32;  // of one call

// A call of a thread is run again from its beginning for each access; what it has read is replayed.
// What it changes here counts when it has run to its end.
struct Actor {
  std::uint8_t at = 0;
  std::uint8_t epoch = 1;
  bool willing = true;  // what a block's first poll has found
  bool given_up = false;
  bool untold = false;
  bool tells_host = false;
  bool late = false;  // it has come after the peer had closed, and has not looked
  std::uint8_t size = 0;
  std::array<Value, most_accesses> log{};
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

class Hands {
 public:
  Hands(State& all, unsigned number, unsigned choice, std::string* text)
      : state(all),
        thread(number),
        actor(all.actors[number]),
        choice_(choice),
        text_(text),
        fresh_(actor.size == 0) {}

  Value load(unsigned place, Order order, const char* name);
  void store(unsigned place, Order order, unsigned value, const char* name);
  // For words of several writers.
  Value exchange(unsigned place, Order order, unsigned value, const char* name);
  template <class Change>
  Value modify(unsigned place, Order order, Change change, const char* name) {  // the value before
    return step("changes ", name, [&] {
      const Value before = state.memory.newest(place);
      state.memory.exchange(thread, place, order, static_cast<Value>(change(before)));
      return before;
    });
  }
  void fence(Order order);
  Value read_own(unsigned part);
  void write_own(unsigned part, Value value);
  void fail(const char* what) {
    if (live() && fault == nullptr) fault = what;
  }
  // Whether what the call does now is done for the first time.
  bool live() const { return !stopped && (performed_ || fresh_); }

  State& state;
  const unsigned thread;
  Actor& actor;
  unsigned choices = 1;
  bool stopped = false;
  const char* fault = nullptr;

 private:
  template <class Access>
  Value step(const char* verb, const char* name, Access access) {
    if (position_ < actor.size) return actor.log[position_++];
    if (performed_ || actor.size == most_accesses) stopped = true;
    if (stopped) return 0;
    performed_ = true;
    const Value value = access();
    actor.log[actor.size++] = value;
    ++position_;
    if (text_ != nullptr) *text_ += std::string(verb) + name + " " + std::to_string(value) + "; ";
    return value;
  }

  unsigned choice_;
  std::string* text_;
  unsigned position_ = 0;
  bool performed_ = false;
  bool fresh_;
};

}  // namespace penstock::explorer::teams
