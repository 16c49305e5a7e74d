// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench_options.hpp"

namespace penstock::bench {

// Every name that --baseline of such a benchmark may have, on one device or another.
std::vector<std::string> baseline_names(Kind kind);

// Throws what the command line says of a baseline that does not fit the other options.
void require_known_baselines(const Options& options);

}  // namespace penstock::bench
