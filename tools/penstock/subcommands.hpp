// SPDX-License-Identifier: Apache-2.0
// The command's own subcommands; benchmarks and applications declare theirs beside their code.
#pragma once

#include "support/command.hpp"

namespace penstock::tool {

void add_info(CLI::App& parent, Command& command);
void add_doctor(CLI::App& parent, Command& command);
void add_tune(CLI::App& parent, Command& command);
void add_model(CLI::App& parent, Command& command);
void add_plot(CLI::App& parent, Command& command);
// Of the whole command line, which is `parent`.
void add_completion(CLI::App& parent, Command& command);
void add_manual(CLI::App& parent, Command& command);

}  // namespace penstock::tool
