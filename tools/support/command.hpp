// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>

#include "support/session.hpp"

namespace penstock::tool {

// What the command line asks for: filled while it is parsed, run when MPI is up.
struct Command {
  std::string transport;  // PENSTOCK_TRANSPORT of this run; empty leaves the environment as it is
  std::string thread;     // thread level by name; empty lets the transport decide
  std::function<int(const Session&)> run;
  // What comes before MPI begins, if anything; a status ends the command with it.
  std::function<std::optional<int>()> before_mpi;
  std::function<int()> run_alone;  // in place of it, for what needs no MPI

  int thread_level() const;
  void apply_environment() const;
};

// --transport and --thread, shared by the subcommands that communicate.
void add_run_options(CLI::App& app, Command& command);
// The latter alone.
void add_thread_option(CLI::App& app, Command& command, const std::string& what);

}  // namespace penstock::tool
