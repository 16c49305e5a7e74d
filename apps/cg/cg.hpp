// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/command.hpp"

namespace penstock::cg {

// Adds the subcommand `cg`.
void add_cg(CLI::App& parent, tool::Command& command);

}  // namespace penstock::cg
