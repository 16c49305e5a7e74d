// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/command.hpp"

namespace penstock::faces {

// Adds the subcommand `faces`.
void add_faces(CLI::App& parent, tool::Command& command);

}  // namespace penstock::faces
