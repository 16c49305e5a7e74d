// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "kernels.hpp"

namespace penstock::bench::floor {

struct Options {
  std::vector<std::size_t> sizes;  // empty: those of the chosen table
  std::vector<std::string> modes{"stream", "graph"};
  std::vector<std::string> launches{"plain", "dependent"};
  std::string handover = "early";
  std::string caller = "runtime";
  bool steps = false;
  bool check = false;
  bool as_json = false;
  int rounds = 5;
  int iterations = 0;  // 0: by size
};

void describe(CLI::App& app, Options& options);
// Throws std::invalid_argument for sizes that the kernels do not take.
std::vector<std::size_t> sizes_of(const Options& options);
int trips_for(const Options& options, std::size_t bytes);

}  // namespace penstock::bench::floor
