// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/options.hpp"
#include "common/samples.hpp"

namespace penstock::apps {

// A variant's times over the rounds, and what carried its messages.
struct Row {
  std::string name;
  std::string transport;
  bool is_baseline;                    // of the gains: the fastest of these counts
  Samples samples;                     // us
  std::optional<double> over_floor{};  // us above what the same takes without messages
};

// What is true of a whole table: its program, what one time is the time of ("share", "cycle", ...),
// a line for people and the fields of the JSON line, each a JSON text.
struct Setup {
  std::string program;
  std::string what;
  std::string note;
  std::vector<std::pair<std::string, std::string>> fields;
};

// On rank 0, as a table or as one JSON line; elsewhere nothing. No gains where there are more ranks
// than cores: MPI's busy waiting would decide them. Collective.
void print_rows(const Setup& setup, const std::vector<Row>& rows, const Options& options,
                const tool::Session& session);

// How many times as fast as the fastest baseline; nothing without one.
std::optional<double> gain_of(const Row& row, const std::vector<Row>& rows);

}  // namespace penstock::apps
