// SPDX-License-Identifier: Apache-2.0
// What `penstock model` reads: docs/scale.md has the format.
#pragma once

#include <string>
#include <vector>

#include "penstock/step_model.hpp"

namespace penstock::tool {

// What somebody has measured: a speed-up over the first way on one rank, or what a step took.
struct Published {
  std::string way;
  int ranks = 0;
  double speedup = 0, us = 0;  // one of them is 0
};

struct ModelInput {
  std::string source;  // where the figures are from
  Machine machine;
  Problem problem;
  std::vector<Published> published;
};

// Throws std::runtime_error, which names the file and what is wrong in it.
ModelInput read_model_input(const std::string& path);
// Takes the latencies of that way from lines of `penstock bench latency --json`: those of `side`.
void take_latencies(ModelInput& input, const std::string& way, const std::string& path,
                    const std::string& side);

}  // namespace penstock::tool
