// SPDX-License-Identifier: Apache-2.0
// penstock info: what the library found on this machine.
#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <penstock/penstock.hpp>

#include "command.hpp"

namespace penstock::tool {
namespace {

using nlohmann::json;

std::string to_text(const json& value) {
  if (!value.is_string()) return value.dump();
  return value.get<std::string>().empty() ? "(not set)" : value.get<std::string>();
}

void print_row(const std::string& name, const std::string& value) {
  fmt::print("{:<26} {}\n", name, value);
}

// Things of which each is usable or not: devices, transports.
void print_choices(const std::string& title, const json& choices) {
  fmt::print("\n{}\n", title);
  for (const json& choice : choices) {
    const bool usable = choice.value("usable", false);
    const std::string why = choice.value("why", "");
    print_row("  " + choice.value("name", "?"),
              std::string(usable ? "usable" : "not usable") + (why.empty() ? "" : ": " + why));
  }
}

void print_settings(const json& settings) {
  fmt::print("\nsettings (environment)\n");
  for (const auto& [name, value] : settings.items()) print_row("  " + name, to_text(value));
}

void print_table(const json& description) {
  const auto is_section = [](const std::string& name) {
    return name == "devices" || name == "transports" || name == "settings";
  };
  for (const auto& [name, value] : description.items()) {
    if (!is_section(name)) print_row(name, to_text(value));
  }
  if (description.contains("devices")) print_choices("devices", description["devices"]);
  if (description.contains("transports")) print_choices("transports, best first", description["transports"]);
  if (description.contains("settings")) print_settings(description["settings"]);
}

int run_info(const Session& session, bool as_json) {
  if (!session.is_root()) return 0;
  const json description = json::parse(describe());
  if (as_json) {
    fmt::print("{}\n", description.dump(2));
  } else {
    print_table(description);
  }
  return 0;
}

}  // namespace

void add_info(CLI::App& parent, Command& command) {
  CLI::App* app = parent.add_subcommand("info", "Show versions, devices, transports and why each is usable or not");
  auto as_json = std::make_shared<bool>(false);
  app->add_flag("--json", *as_json, "Print JSON");
  add_run_options(*app, command);
  app->callback(
      [as_json, &command] { command.run = [as_json](const Session& session) { return run_info(session, *as_json); }; });
}

}  // namespace penstock::tool
