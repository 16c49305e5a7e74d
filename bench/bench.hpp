// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/command.hpp"

namespace penstock::bench {

// Adds the subcommand `bench` with `latency` and `bw`.
void add_bench(CLI::App& parent, tool::Command& command);

}  // namespace penstock::bench
