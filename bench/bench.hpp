// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/command.hpp"

namespace penstock::bench {

// Adds the subcommand `bench`, with a subcommand for each of `benchmarks` (bench_options.hpp).
void add_bench(CLI::App& parent, tool::Command& command);

}  // namespace penstock::bench
