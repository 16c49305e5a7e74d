// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "bench_options.hpp"
#include "statistics.hpp"

namespace penstock::bench {

// One row: the same program by plain MPI, by the stream, and by the baselines of the header.
struct Row {
  std::size_t bytes;
  tool::Summary mpi;
  tool::Summary stream;
  int iterations;
  std::vector<tool::Summary> baselines{};
};

// Prints a benchmark's rows as they come: a table, or JSON lines. Rank 0 only prints; others may call.
class Table {
 public:
  // `unit` is "us" or "MB/s".
  Table(std::string benchmark, std::string unit, const Options& options, const tool::Session& session);

  void print_header(const std::string& transport, const std::vector<std::string>& baselines = {});
  void print(const Row& row) const;

  // What belongs to no message size: a cost with a name, in the unit given; MPI's beside it where there is one.
  void print_cost(const std::string& name, const std::string& unit, const tool::Summary& cost,
                  const tool::Summary* mpi = nullptr) const;

 private:
  std::string benchmark_;
  std::string unit_;
  const Options& options_;
  const tool::Session& session_;
  std::string transport_;
  std::vector<std::string> baselines_;
};

}  // namespace penstock::bench
