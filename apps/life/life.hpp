// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/command.hpp"

namespace penstock::life {

// Adds the subcommand `life`.
void add_life(CLI::App& parent, tool::Command& command);

}  // namespace penstock::life
