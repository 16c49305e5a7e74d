// SPDX-License-Identifier: Apache-2.0
// penstock info: what the library found on this machine.
#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <penstock/penstock.hpp>
#include <string>
#include <tuple>

#include "penstock/subcommands.hpp"

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
    // Nothing has been sent: what is not zero is a limit.
    const json counts = choice.value("counts", json::object());
    for (const auto& [what, count] : counts.items())
      if (count != 0) print_row("    " + what, to_text(count));
  }
}

void print_gpu(const json& gpu) {
  constexpr double gib = 1024.0 * 1024.0 * 1024.0;
  print_row("  " + to_text(gpu["device"]),
            fmt::format("{}, {}, PCI {}, {} processors, {:.1f} GiB", to_text(gpu["name"]),
                        to_text(gpu["architecture"]), to_text(gpu["pci"]),
                        gpu.value("processors", 0), gpu.value("bytes", 0.0) / gib));
  for (const json& link : gpu["links"])
    print_row("    to " + to_text(link["device"]),
              link.value("p2p", false)
                  ? fmt::format("P2P, {} native atomics, performance rank {}",
                                link.value("native_atomics", false) ? "with" : "without",
                                link.value("performance_rank", 0))
                  : std::string("no P2P"));
  for (const auto& [kind, by] : gpu["exports"].items())
    print_row("    " + kind, by.get<std::string>().empty()
                                 ? "not exported to other processes"
                                 : "exported by " + by.get<std::string>());
}

// Where an interface is found, for people.
std::string place_of(const json& provider) {
  const std::string domain = provider.value("domain", "");
  const std::string address = provider.value("address", "");
  return address.empty() ? domain : domain + " " + address;
}

// A provider is offered once for each network interface: those that share a verdict share a line.
void print_providers(const json& providers) {
  fmt::print("\nproviders of libfabric\n");
  for (std::size_t first = 0, next = 0; first < providers.size(); first = next) {
    const auto verdict = [&](std::size_t i) {
      return std::tuple(to_text(providers[i]["name"]), providers[i].value("usable", false),
                        to_text(providers[i]["why"]));
    };
    std::string places;
    for (; next < providers.size() && verdict(next) == verdict(first); ++next)
      places += (next == first ? "" : ", ") + place_of(providers[next]);
    const auto [name, usable, why] = verdict(first);
    print_row("  " + name, fmt::format("{}: {}{}", usable ? "usable" : "not usable", why,
                                       places.empty() ? "" : " (" + places + ")"));
  }
}

// Where there is none, the devices' lines say why.
void print_gpus(const json& gpus) {
  fmt::print("\ngpus{}\n", gpus.empty() ? ": none, see devices" : "");
  for (const json& gpu : gpus) print_gpu(gpu);
}

void print_settings(const json& settings) {
  fmt::print("\nsettings (environment)\n");
  for (const auto& [name, value] : settings.items()) print_row("  " + name, to_text(value));
}

void print_table(const json& description) {
  const auto is_section = [](const std::string& name) {
    return name == "devices" || name == "gpus" || name == "transports" || name == "providers" ||
           name == "settings";
  };
  for (const auto& [name, value] : description.items()) {
    if (name == "threads_ran" || name == "threads_waited")
      print_row(name, fmt::format("{:.3f} s", std::stod(value.get<std::string>())));
    else if (!is_section(name))
      print_row(name, to_text(value));
  }
  if (description.contains("devices")) print_choices("devices", description["devices"]);
  if (description.contains("gpus")) print_gpus(description["gpus"]);
  if (description.contains("transports"))
    print_choices("transports, best first", description["transports"]);
  if (description.contains("providers")) print_providers(description["providers"]);
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
  CLI::App* app =
      parent.add_subcommand("info", "Show versions, devices, transports, and why each is usable");
  auto as_json = std::make_shared<bool>(false);
  app->add_flag("--json", *as_json, "Print JSON");
  add_run_options(*app, command);
  app->callback([as_json, &command] {
    command.run = [as_json](const Session& session) { return run_info(session, *as_json); };
  });
}

}  // namespace penstock::tool
