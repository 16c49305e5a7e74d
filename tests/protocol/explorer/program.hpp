// SPDX-License-Identifier: Apache-2.0
// What the threads (one a stream) of a scenario call, in order. Programs are written as in the
// litmus tables:
//   s1 r2    start the send of pair 1, the receive of pair 2
//   w1 w12   wait for pair 1; for both, in any order (waitall). ws1r1 names the sides where
//            a thread has both
//   e1 a1    record event 1; wait for its next record (a stream's event, a message between hosts)
//   c1       free the half of pair 1
//   z1 n1    zero pair 1's block and begin again at epoch 1; begin again without zeroing. Of a pair
//            that may close, z1 waits for the other side's CLOSED
//   (...)3   three times
#pragma once

#include <string>
#include <vector>

#include "protocol/explorer/pair.hpp"

namespace penstock::explorer {

struct Call {
  enum class Kind : std::uint8_t { start, wait, close, record, await, zero, renew };
  Kind kind = Kind::start;
  std::uint8_t endpoint = 0;   // of a start, a close
  std::uint8_t endpoints = 0;  // of a wait: a bit each
  std::uint8_t number = 0;     // of an event, a pair
  std::uint8_t count = 0;      // of an event: which record
};

using Program = std::vector<Call>;

// A thread runs its program, or, if `any_order` names endpoints, every order of calls that is legal
// for them: each a number of epochs, starts and waits in any order and grouping.
struct ThreadSpec {
  std::string program;
  std::vector<unsigned> any_order = {};  // endpoints
};

struct Scenario {
  std::string name;
  std::vector<PairSpec> pairs;
  std::vector<ThreadSpec> threads;
  std::vector<unsigned> epochs = {};  // by pair, for threads with any_order
  // A planted defect uses relaxed accesses: beside fences the model must keep more.
  bool relaxed_orders = false;
  // How often a thread inside a wait may be released from it, by whoever watches it. Its queue has
  // failed then: later starts on it are suppressed, and waits look once.
  unsigned releases = 0;
  // A buffered send that finds no buffer ends its thread instead of being a fault.
  bool buffer_may_fill = false;
};

constexpr unsigned max_events = 4;

Program parse_program(const std::string& text);

// True if the programs complete under MPI's rule: a wait ends as soon as the peer's start of that
// epoch has run.
bool completes_by_rule(const std::vector<Program>& programs);

// Every order of starting and waiting for two pairs, each its number of times: the calls of a side
// that has both.
std::vector<std::string> all_orders(char first, char second, std::array<unsigned, 2> epochs);

}  // namespace penstock::explorer
