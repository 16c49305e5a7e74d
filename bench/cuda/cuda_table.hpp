// SPDX-License-Identifier: Apache-2.0
// What the CUDA benchmarks print: tables, or JSON lines.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "session.hpp"
#include "side.hpp"
#include "statistics.hpp"

namespace penstock::bench {

using Sides = std::vector<std::unique_ptr<Side>>;

// One measurement.
struct Outcome {
  std::size_t bytes = 0;     // of a message, or of all that a rank sends in an exchange
  double moved = 0;          // bytes that all ranks send in one round, where that is shown
  std::size_t messages = 1;  // that a rank sends in one round
  int trips = 0;             // in a timed round
};

class CudaTable {
 public:
  // What a round's time is turned into. exchange: the time, and what all ranks move in it.
  enum class Kind { latency, bandwidth, exchange };

  CudaTable(Kind kind, const Options& options, const tool::Session& session);

  void print_note(const std::string& text) const;  // in tables only
  void print_header(const Sides& sides) const;
  void print(const Outcome& outcome, const Sides& sides) const;
  void print_costs(std::size_t bytes, const std::string& name, const Side::Costs& costs) const;

 private:
  double shown(double us, const Outcome& outcome) const;
  tool::Summary summary(const Side& side, const Outcome& outcome) const;
  double gain(const tool::Summary& ours, const tool::Summary& theirs) const;
  void print_row(const Outcome& outcome, const Sides& sides) const;
  void print_json(const Outcome& outcome, const Sides& sides) const;

  Kind kind_;
  const Options& options_;
  const tool::Session& session_;
};

}  // namespace penstock::bench
