// SPDX-License-Identifier: Apache-2.0
// What --json prints for a measurement: one format, whatever was measured, on whichever device.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bench_options.hpp"
#include "figure.hpp"
#include "support/session.hpp"

namespace penstock::bench {

struct Measurement {
  std::string benchmark{};
  std::string unit{};
  bool more_is_better = false;
  std::size_t bytes = 0;          // of a message, or of all that a rank sends in an exchange
  std::size_t messages = 1;       // that a rank sends at once
  int iterations = 0;             // in a timed round
  std::vector<Figure> figures{};  // Penstock's first
  std::optional<tool::Summary> caller_ns{};  // what a message costs Penstock's caller
  std::optional<double> moved{};             // bytes of all ranks in one exchange, for MB/s
  std::string transport{};
  std::string pairs{};   // who exchanges with whom, where that is a choice
  std::size_t edge = 0;  // of a halo's cubes
};

// How many times as fast Penstock is.
double gain(const Measurement& measurement, const Figure& other);

std::string json_line(const Measurement& measurement, const Options& options,
                      const tool::Session& session);

}  // namespace penstock::bench
