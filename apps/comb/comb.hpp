// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/command.hpp"

namespace penstock::comb {

// Adds the subcommand `comb`.
void add_comb(CLI::App& parent, tool::Command& command);

}  // namespace penstock::comb
