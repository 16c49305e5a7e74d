// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "grid.hpp"
#include "support/session.hpp"
#include "support/statistics.hpp"

namespace penstock::life {

// One row of the table: a variant's times over the rounds.
struct Row {
  std::string name;
  std::string transport;
  bool is_baseline;  // of the speed-up: the fastest of these counts
  tool::Summary step_us;
  tool::Summary enqueue_us;
};

// What is true of the whole table.
struct Setup {
  std::string mpi;
  std::string device;
  std::string pattern;
  int ranks;
  int columns;
  int rows;
  int width;
  int height;
  int generations;
  int rounds;
  bool oversubscribed;
};

// The speed-up is left out where there is no baseline, or where MPI's busy waiting would decide it.
void print_table(const Setup& setup, const std::vector<Row>& rows);
// `indent` as of nlohmann::json::dump: -1 makes one line.
std::string to_json(const Setup& setup, const std::vector<Row>& rows, int indent);

}  // namespace penstock::life
