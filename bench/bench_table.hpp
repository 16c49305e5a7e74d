// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "json_line.hpp"

namespace penstock::bench {

// Prints a benchmark's rows as they come: a table, or JSON lines. Rank 0 only prints; others may
// call.
class Table {
 public:
  Table(const Options& options, const tool::Session& session)
      : options_(options), session_(session) {}

  // `first`: the first row before its rounds, for who takes part.
  void print_header(const std::string& device, const Measurement& first) const;
  void print(const Measurement& measurement) const;

  // What belongs to no message size: a cost with a name, in the unit given; MPI's beside it where
  // there is one.
  void print_cost(const std::string& name, const std::string& unit, const tool::Summary& cost,
                  const tool::Summary* mpi = nullptr) const;
  // What a side's calls cost its caller.
  void print_call_costs(std::size_t bytes, const std::string& side, const CallCosts& costs) const;

 private:
  std::string row_of(const Measurement& measurement) const;

  const Options& options_;
  const tool::Session& session_;
};

}  // namespace penstock::bench
