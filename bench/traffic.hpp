// SPDX-License-Identifier: Apache-2.0
// Who sends what to whom in one trip of a benchmark, whichever library carries it on which device.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench_options.hpp"

namespace penstock::bench {

struct Traffic {
  enum class Shape {
    ping_pong,  // one of a pair sends, and the other one answers with as much
    window,     // one of a pair sends a window of messages, and the other one answers once
    at_once     // every rank sends and receives together, or they take part in a collective
  };
  struct Part {
    int peer;
    std::size_t bytes;
    int tag = 0;
    Mode mode = Mode::standard;  // of a send
    Layout layout{};
    std::size_t reach() const { return layout.reach(bytes); }
  };
  Shape shape = Shape::ping_pong;
  int rank = 0;
  int ranks = 2;
  bool leads = true;          // sends first, where not all is sent at once
  std::vector<Part> sends{};  // between two ranks in the same order at both
  std::vector<Part> receives{};
  std::string algorithm{};  // of a collective, where one was named
};

// What a row of the table measures.
struct Row {
  Traffic traffic;
  std::size_t bytes;     // of a message, or of all that a rank sends in an exchange
  std::size_t messages;  // that a rank sends in a trip
  std::size_t moved;     // bytes that all ranks send in a trip, answers not counted
  std::size_t edge = 0;  // of a halo's cubes
};
std::vector<Row> rows_of(const Options& options, const tool::Session& session);

// What there is to say of the traffic in the head of a table.
std::vector<std::string> notes_of(const Options& options, const tool::Session& session);

}  // namespace penstock::bench
