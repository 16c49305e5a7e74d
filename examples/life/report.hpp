// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "decomposition.hpp"
#include "grid.hpp"
#include "session.hpp"
#include "statistics.hpp"

namespace penstock::life {

// One row of the table: a variant's times over the rounds.
struct Row {
  std::string name;
  std::string transport;
  tool::Summary step_us;
  tool::Summary enqueue_us;
};

// What is true of the whole table.
struct Setup {
  std::string mpi;
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

// The first row is the baseline of the speed-up, which is left out where MPI's busy waiting would decide it.
void print_table(const Setup& setup, const std::vector<Row>& rows);
std::string to_json(const Setup& setup, const std::vector<Row>& rows);

}  // namespace penstock::life
