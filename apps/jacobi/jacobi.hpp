// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/command.hpp"

namespace penstock::jacobi {

// Adds the subcommand `jacobi`.
void add_jacobi(CLI::App& parent, tool::Command& command);

}  // namespace penstock::jacobi
