// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "bench_options.hpp"
#include "json_line.hpp"
#include "support/statistics.hpp"

namespace penstock::bench {

// Prints a benchmark's rows as they come: a table, or JSON lines. Rank 0 only prints; others may
// call.
class Table {
 public:
  // `what` is said in the head: "half round trip". A unit of "us" is better the less it is, any
  // other the more.
  Table(std::string benchmark, std::string unit, std::string what, const Options& options,
        const tool::Session& session);

  void print_header(const std::string& transport, const std::vector<std::string>& baselines = {});
  // The figures are those of Penstock, of plain MPI's persistent requests, and of the baselines of
  // the header.
  void print(Measurement measurement) const;

  // What belongs to no message size: a cost with a name, in the unit given; MPI's beside it where
  // there is one.
  void print_cost(const std::string& name, const std::string& unit, const tool::Summary& cost,
                  const tool::Summary* mpi = nullptr) const;

 private:
  bool is_time() const { return unit_ == "us"; }
  std::string row_of(const Measurement& measurement) const;

  std::string benchmark_;
  std::string unit_;
  std::string what_;
  const Options& options_;
  const tool::Session& session_;
  std::string transport_;
};

}  // namespace penstock::bench
