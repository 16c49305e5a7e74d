// SPDX-License-Identifier: Apache-2.0
// What the library knows: MPI, transports, networks, recording, settings, the tuning file.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <penstock/penstock.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include "penstock/doctor_checks.hpp"

namespace penstock::tool::doctor {
namespace {

using nlohmann::json;

std::string word(const json& object, const char* key) {
  return object.value(key, std::string());
}

// Of a variable that is set and valid; else empty.
std::string value_of(const json& environment, const std::string& name) {
  for (const json& variable : environment.at("variables"))
    if (word(variable, "name") == name && word(variable, "is") == "valid")
      return word(variable, "value");
  return "";
}

bool names_transport(const std::string& list, const std::string& name) {
  return ("," + list + ",").find("," + name + ",") != std::string::npos;
}

bool is_usable(const json& description, const std::string& transport) {
  for (const json& each : description.at("transports"))
    if (word(each, "name") == transport) return each.value("usable", false);
  return false;
}

std::string cure_of_transport(const Known& known, const std::string& name) {
  const json& description = known.description;
  const std::string allowed = value_of(known.environment, "PENSTOCK_TRANSPORT");
  if (!allowed.empty() && !names_transport(allowed, name))
    return fmt::format("export PENSTOCK_TRANSPORT={},{}, or unset PENSTOCK_TRANSPORT", allowed,
                       name);
  if (name == "proxy" && word(description, "thread_level") != "MPI_THREAD_MULTIPLE")
    return "export PENSTOCK_THREAD_MULTIPLE=1, or have the program call MPI_Init_thread with "
           "MPI_THREAD_MULTIPLE";
  if (name == "peer") return "see memory.shared; inside a container: docker run --shm-size=1g";
  if (name == "ofi") return "see network.providers; PENSTOCK_THREAD_MULTIPLE=1 opens proxy instead";
  return "export PENSTOCK_LOG=info, and read why each pair passes it over";
}

Finding transport_finding(const Known& known, const json& transport) {
  const json& description = known.description;
  const std::string name = word(transport, "name");
  Finding finding{Level::ok, "transport." + name, "usable", ""};
  if (transport.value("usable", false)) {
    if (const std::string why = word(transport, "why"); !why.empty()) finding.found += ": " + why;
    return finding;
  }
  finding.found = "not usable: " + word(transport, "why");
  const std::string asked = value_of(known.environment, "PENSTOCK_TRANSPORT");
  const bool on_one_host = description.at("ranks") == description.at("ranks_on_host");
  if (name == "ofi" && asked.empty() && on_one_host && is_usable(description, "peer"))
    return finding;
  finding.cure = cure_of_transport(known, name);
  const bool is_asked_for = !asked.empty() && names_transport(asked, name);
  const bool nothing_else = name == "proxy" && !on_one_host && !is_usable(description, "ofi");
  finding.level = is_asked_for || nothing_else || (name == "peer" && asked.empty()) ? Level::fault
                                                                                    : Level::note;
  return finding;
}

// Those that are usable, each once with its first interface: they are listed for every one.
std::string usable_providers(const json& description) {
  std::set<std::string> names;
  std::string text;
  for (const json& provider : description.at("providers"))
    if (provider.value("usable", false) && names.insert(word(provider, "name")).second)
      text += fmt::format("{}{} ({} {})", text.empty() ? "" : ", ", word(provider, "name"),
                          word(provider, "domain"), word(provider, "address"));
  return text;
}

// The others, by the reason that they share.
std::string refused_providers(const json& description) {
  std::map<std::string, std::set<std::string>> names;
  for (const json& provider : description.at("providers"))
    names[word(provider, "why")].insert(word(provider, "name"));
  std::string text;
  for (const auto& [why, those] : names)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", why, fmt::join(those, ", "));
  return text;
}

// The setting that a refusal of the library begins with, as "PENSTOCK_TRACE='..' is not valid";
// empty where it is none.
std::string setting_in(const std::string& why) {
  const std::size_t begin = why.find("PENSTOCK_"), end = why.find("='");
  return begin < end && end != std::string::npos ? why.substr(begin, end - begin) : "";
}

std::string cure_of_setting(const json& variable) {
  const std::string name = word(variable, "name"), nearest = word(variable, "nearest");
  if (!nearest.empty())
    return fmt::format("export {}={}; unset {}", nearest, word(variable, "value"), name);
  return fmt::format("unset {}", name);
}

Finding setting_finding(const json& variable) {
  const std::string name = word(variable, "name"), value = word(variable, "value");
  const std::string is = word(variable, "is"), nearest = word(variable, "nearest");
  Finding finding{Level::ok, "setting." + name, "'" + value + "'", ""};
  if (value.empty()) finding.found = "empty, which is as unset";
  if (is == "invalid") {
    finding.level = Level::fault;
    finding.found = word(variable, "why");
    finding.cure = cure_of_setting(variable) + ", or a value that docs/settings.md lists";
  } else if (is == "unknown") {
    finding.level = nearest.empty() ? Level::note : Level::fault;
    finding.found = "is no setting of Penstock, and is ignored" +
                    (nearest.empty() ? "" : ": the nearest is " + nearest);
    finding.cure = cure_of_setting(variable);
  } else if (variable.value("for_tests", false)) {
    finding.level = Level::note;
    finding.found += ": is for tests of the library itself";
    finding.cure = cure_of_setting(variable);
  } else if (is == "elsewhere") {
    finding.found += ": says where Penstock is, when a program is built";
  }
  return finding;
}

}  // namespace

void examine_mpi_library(Findings& findings, const json& environment) {
  const std::string built_for = word(environment, "mpi_of_build");
  const std::string loaded = word(environment, "mpi"), file = word(environment, "mpi_library");
  Finding finding{Level::ok, "mpi.library", "", ""};
  finding.found = fmt::format("{} ({})", loaded, file);
  const std::string number = built_for.substr(built_for.rfind(' ') + 1);
  if (!environment.value("mpi_fits", true)) {
    finding.level = Level::fault;
    finding.found += fmt::format(", but {} was built for {}", word(environment, "library"),
                                 word(environment, "mpi_family_of_build"));
    finding.cure = std::getenv("LD_PRELOAD") != nullptr
                       ? "unset LD_PRELOAD, or build Penstock for that MPI"
                       : "unset LD_LIBRARY_PATH, or build Penstock for that MPI: cmake "
                         "-DMPI_C_COMPILER=mpicc of it";
  } else if (loaded.find(number) == std::string::npos) {
    finding.level = Level::note;
    finding.found += fmt::format(", and penstock was built for {}", built_for);
    finding.cure = "build Penstock again with this MPI's mpicc, or load the other one";
  } else {
    finding.found += ", as penstock was built for";
  }
  findings.push_back(finding);
}

void examine_mpi(Findings& findings, const Known& known, const Session& session, int asked_level) {
  const int started = session.size() == 1 ? launch_of_environment().ranks : 0;
  if (started > 1)
    findings.push_back({Level::fault, "mpi.launcher",
                        fmt::format("{} processes were started, and each is alone: the launcher is "
                                    "of another MPI than {}",
                                    started, session.mpi_name()),
                        "start it with the launcher of that MPI (on Debian mpiexec.mpich or "
                        "mpiexec.openmpi)"});
  else
    findings.push_back({Level::ok, "mpi.launcher",
                        fmt::format("{} rank{}", session.size(), session.size() == 1 ? "" : "s"),
                        ""});
  const bool raised = value_of(known.environment, "PENSTOCK_THREAD_MULTIPLE") == "1";
  const int wanted = raised ? MPI_THREAD_MULTIPLE : asked_level;
  Finding finding{Level::ok, "mpi.threads", "", ""};
  finding.found = fmt::format("{} was asked for{}, MPI gives {}", thread_level_name(wanted),
                              raised ? " (PENSTOCK_THREAD_MULTIPLE=1)" : "",
                              thread_level_name(session.thread_level()));
  if (session.thread_level() < wanted) {
    finding.level = Level::fault;
    finding.cure =
        "use an MPI that was built with --enable-mpi-thread-multiple or "
        "--enable-threads=multiple";
  }
  findings.push_back(finding);
}

// The loader may find the library of another installation than the command's own.
void examine_version(Findings& findings, const Known& known) {
  int major = 0, minor = 0, patch = 0;
  PST_Get_version(&major, &minor, &patch);
  const std::string loaded = fmt::format("{}.{}.{}", major, minor, patch);
  const std::string compiled =
      fmt::format("{}.{}.{}", PST_VERSION_MAJOR, PST_VERSION_MINOR, PST_VERSION_PATCH);
  const std::string file = word(known.environment, "library");
  if (major == PST_VERSION_MAJOR && minor == PST_VERSION_MINOR)
    findings.push_back({Level::ok, "library.version", "penstock " + loaded, ""});
  else
    findings.push_back({Level::fault, "library.version",
                        fmt::format("{} is penstock {}, and this command was compiled for {}", file,
                                    loaded, compiled),
                        fmt::format("unset LD_LIBRARY_PATH and LD_PRELOAD, or name the folder of "
                                    "penstock {} first; programs are compiled with the headers "
                                    "of the library that they find",
                                    compiled)});
}

void examine_library(Findings& findings, const Known& known) {
  const std::string file = word(known.environment, "library");
  Finding finding{Level::ok, "library", "ready: " + file, ""};
  if (!known.why_not_ready.empty()) {
    const std::string setting = setting_in(known.why_not_ready);
    finding.level = Level::fault;
    finding.found = fmt::format("{}: {}; transports, networks, GPUs and cores are not looked at",
                                file, known.why_not_ready);
    finding.cure = setting.empty()
                       ? "docs/errors.md has what to do about each kind of error"
                       : fmt::format("unset {}, or a value of docs/settings.md", setting);
  }
  findings.push_back(finding);
}

void examine_transports(Findings& findings, const Known& known) {
  for (const json& transport : known.description.at("transports"))
    findings.push_back(transport_finding(known, transport));
}

void examine_network(Findings& findings, const Known& known) {
  Finding finding{Level::ok, "network.providers", "", ""};
  const std::string usable = usable_providers(known.description);
  if (!usable.empty()) {
    finding.found = "take deferred work: " + usable;
    findings.push_back(finding);
    return;
  }
  const bool is_chosen = !value_of(known.environment, "PENSTOCK_OFI_PROVIDER").empty() ||
                         !value_of(known.environment, "PENSTOCK_OFI_INTERFACE").empty();
  finding.level = is_chosen ? Level::fault : Level::note;
  finding.found = "none serves: " + refused_providers(known.description);
  finding.cure = is_chosen
                     ? "unset PENSTOCK_OFI_PROVIDER PENSTOCK_OFI_INTERFACE; penstock info lists all"
                     : "between hosts use proxy: export PENSTOCK_THREAD_MULTIPLE=1; within one "
                       "none is needed";
  findings.push_back(finding);
}

void examine_recording(Findings& findings, const json& environment) {
  const std::string why = word(environment, "why_not_recording");
  const std::string preload = "export LD_PRELOAD=" + word(environment, "library");
  if (why.empty())
    findings.push_back({Level::ok, "recording.calls",
                        "MPI calls of this command come through libpenstock (--program FILE looks "
                        "at another program)",
                        ""});
  else
    findings.push_back({Level::fault, "recording.calls", why, preload});
  const char* const given = std::getenv("LD_PRELOAD");
  std::string list = given != nullptr ? given : "";
  std::replace(list.begin(), list.end(), ':', ' ');
  std::istringstream files(list);
  std::string missing;
  for (std::string file; files >> file;)
    if (file.find('/') != std::string::npos && access(file.c_str(), R_OK) != 0)
      missing += " " + file;
  if (!missing.empty())
    findings.push_back({Level::fault, "recording.preload",
                        "LD_PRELOAD names what cannot be read:" + missing, preload});
  else if (!list.empty())
    findings.push_back({Level::ok, "recording.preload", "LD_PRELOAD=" + list, ""});
}

void examine_settings(Findings& findings, const json& environment) {
  const json& variables = environment.at("variables");
  for (const json& variable : variables) findings.push_back(setting_finding(variable));
  if (variables.empty())
    findings.push_back({Level::ok, "settings", "no variable begins with PENSTOCK_", ""});
}

void examine_tuning(Findings& findings, const json& environment) {
  const json& tuning = environment.at("tuning");
  const std::string file = word(tuning, "file"), why = word(tuning, "why");
  if (file.empty()) {
    findings.push_back({Level::ok, "tuning.file", "PENSTOCK_TUNE names none", ""});
  } else if (!why.empty()) {
    findings.push_back({Level::fault, "tuning.file", why,
                        "unset PENSTOCK_TUNE, or under the launcher of the job: penstock tune "
                        "collectives --output " +
                            file});
  } else {
    std::string names;
    for (const json& name : tuning.at("collectives"))
      names += (names.empty() ? "" : ", ") + name.get<std::string>();
    findings.push_back({Level::ok, "tuning.file",
                        file + ": for " + (names.empty() ? "no collective" : names), ""});
  }
}

}  // namespace penstock::tool::doctor
