// SPDX-License-Identifier: Apache-2.0
// What --json prints: one format, whatever was measured, on whichever device.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "device.hpp"
#include "support/statistics.hpp"

namespace penstock::bench {

// Median and quartiles; and with them what they are of.
nlohmann::ordered_json summary_to_json(const tool::Summary& summary);
nlohmann::ordered_json samples_to_json(const tool::Summary& summary);

// What one side of a comparison took, or moved, in each round.
struct Figure {
  std::string side;  // "penstock", "mpi", or a baseline
  std::vector<double> samples;
  std::optional<unsigned> blocks{};          // CUDA graphs: of its largest kernel
  std::optional<tool::Summary> caller_ns{};  // what a message costs the caller who enqueues it

  tool::Summary summary() const { return tool::summarize(samples); }
};

struct Measurement {
  Row row;
  int trips = 0;  // in a timed round
  std::string transport{};
  std::string algorithm{};        // of a collective
  std::vector<Figure> figures{};  // Penstock's first
};

std::string json_line(const Measurement& measurement, const Options& options,
                      const tool::Session& session);
// What belongs to no message size; MPI's beside it where there is one.
std::string json_line(const std::string& name, const std::string& unit, const tool::Summary& cost,
                      const tool::Summary* mpi, const tool::Session& session);
std::string json_line(std::size_t bytes, const std::string& side, const CallCosts& costs,
                      const Options& options);

}  // namespace penstock::bench
