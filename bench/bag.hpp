// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/command.hpp"

namespace penstock::bench {

// Adds bench's subcommand `bag`.
void add_bag(CLI::App& bench, tool::Command& command);

}  // namespace penstock::bench
