// SPDX-License-Identifier: Apache-2.0
// What the CUDA benchmarks print: tables, or JSON lines.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "json_line.hpp"
#include "side.hpp"
#include "support/session.hpp"

namespace penstock::bench {

using Sides = std::vector<std::unique_ptr<Side>>;

// One measurement.
struct Outcome {
  std::size_t bytes = 0;     // of a message, or of all that a rank sends in an exchange
  double moved = 0;          // bytes that all ranks send in one round, where that is shown
  std::size_t edge = 0;      // of a halo's cubes
  std::size_t messages = 1;  // that a rank sends in one round
  int trips = 0;             // in a timed round
  std::string transport{};   // of Penstock
};

class CudaTable {
 public:
  // What a round's time is turned into. exchange, halo: the time, and what all ranks move in it.
  enum class Kind { latency, bandwidth, multi_pair, message_rate, exchange, halo };

  CudaTable(Kind kind, const Options& options, const tool::Session& session);

  void print_note(const std::string& text) const;  // in tables only
  void print_header(const Sides& sides) const;
  void print(const Outcome& outcome, const Sides& sides) const;
  void print_costs(std::size_t bytes, const std::string& name, const Side::Costs& costs) const;

 private:
  bool is_exchange() const { return kind_ == Kind::exchange || kind_ == Kind::halo; }
  bool is_bandwidth() const { return kind_ == Kind::bandwidth || kind_ == Kind::multi_pair; }
  double shown(double us, const Outcome& outcome) const;
  Measurement measurement(const Outcome& outcome, const Sides& sides) const;
  void print_row(const Measurement& measurement) const;

  Kind kind_;
  const Options& options_;
  const tool::Session& session_;
};

}  // namespace penstock::bench
