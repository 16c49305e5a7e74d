// SPDX-License-Identifier: Apache-2.0
// The words of the command line, read from its own description: for completion and manual pages.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace penstock::tool {

// "penstock bench latency".
std::string path_of(const CLI::App& app);
std::vector<const CLI::App*> subcommands_of(const CLI::App& app);
// Itself, and all below it.
std::vector<const CLI::App*> family_of(const CLI::App& app);
// Without positional words.
std::vector<const CLI::Option*> options_of(const CLI::App& app);
std::vector<const CLI::Option*> positionals_of(const CLI::App& app);
// With their dashes, the short one first.
std::vector<std::string> spellings_of(const CLI::Option& option);

bool takes_value(const CLI::Option& option);
// The values that it may have, where they can be told one by one.
std::vector<std::string> values_of(const CLI::Option& option);
bool takes_path(const CLI::Option& option);

}  // namespace penstock::tool
