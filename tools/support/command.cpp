// SPDX-License-Identifier: Apache-2.0
#include "support/command.hpp"

#include <cstdlib>
#include <map>

namespace penstock::tool {
namespace {

const std::map<std::string, int>& thread_levels() {
  static const std::map<std::string, int> levels{{"single", MPI_THREAD_SINGLE},
                                                 {"funneled", MPI_THREAD_FUNNELED},
                                                 {"serialized", MPI_THREAD_SERIALIZED},
                                                 {"multiple", MPI_THREAD_MULTIPLE}};
  return levels;
}

bool asks_for_proxy(const std::string& transport) {
  const char* environment = std::getenv("PENSTOCK_TRANSPORT");
  const std::string chosen = !transport.empty()       ? transport
                             : environment != nullptr ? environment
                                                      : "";
  return chosen.find("proxy") != std::string::npos;
}

}  // namespace

// The proxy's progress thread calls MPI beside the program; everything else runs, and is measured,
// without MPI's locks.
int Command::thread_level() const {
  if (!thread.empty()) return thread_levels().at(thread);
  return asks_for_proxy(transport) ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE;
}

void Command::apply_environment() const {
  if (!transport.empty()) setenv("PENSTOCK_TRANSPORT", transport.c_str(), 1);
}

void add_run_options(CLI::App& app, Command& command) {
  // It says which words there are; whether a list of them is right the library says, as for the
  // variable.
  app.add_option("--transport", command.transport,
                 "Transports that may be taken, as in PENSTOCK_TRANSPORT, with commas")
      ->type_name("NAME")
      ->check(CLI::Validator("{peer,ofi,proxy}"));
  add_thread_option(app, command, " (default: single; multiple for proxy)");
}

void add_thread_option(CLI::App& app, Command& command, const std::string& what) {
  app.add_option("--thread", command.thread,
                 "MPI thread level: single, funneled, serialized or multiple" + what)
      ->type_name("LEVEL")
      ->check(CLI::IsMember({"single", "funneled", "serialized", "multiple"}));
}

}  // namespace penstock::tool
