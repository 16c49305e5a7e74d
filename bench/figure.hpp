// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "support/statistics.hpp"

namespace penstock::bench {

// What one side of a comparison took, or moved, in each round.
struct Figure {
  std::string side;  // "penstock", "mpi", or a baseline
  std::vector<double> samples;
  std::optional<unsigned> blocks{};  // CUDA graphs: of its largest kernel

  tool::Summary summary() const { return tool::summarize(samples); }
};

}  // namespace penstock::bench
