// SPDX-License-Identifier: Apache-2.0
// penstock doctor: what a program gets here, what is wrong, and what mends it.
#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <penstock/penstock.hpp>
#include <string>

#include "penstock/doctor_checks.hpp"
#include "penstock/doctor_report.hpp"
#include "penstock/subcommands.hpp"
#include "run_delay.hpp"
#include "support/clock.hpp"
#include "support/progress.hpp"

namespace penstock::tool {
namespace doctor {
namespace {

using nlohmann::json;

struct Examination {
  bool as_json = false;
  std::string program;
  int asked_level = MPI_THREAD_SINGLE;
  json environment;  // as the process was started
};

// One invalid setting keeps the library from starting, and would hide all else that is wrong.
void take_out_invalid_settings(const json& environment) {
  for (const json& variable : environment.at("variables"))
    if (variable.value("is", "") == "invalid")
      unsetenv(variable.value("name", std::string()).c_str());
}

// What the library would log is among the findings.
void quieten_library() {
  setenv("PENSTOCK_LOG", "off", 1);
}

// Says once what kept MPI from beginning, and what can be looked at without it.
int report_without_mpi(Findings findings, const Examination& examination) {
  findings.push_back({Level::note, "mpi.begin", "MPI has not been begun, as this would end it",
                      "mend this, then run penstock doctor again for the rest"});
  examine_settings(findings, examination.environment);
  examine_tuning(findings, examination.environment);
  if (launch_of_environment().rank > 0) return 1;
  return print_report(of_one(findings), examination.as_json);
}

std::optional<int> examine_before_mpi(Examination& examination) {
  examination.environment = json::parse(describe_environment());
  Findings findings = what_keeps_mpi_from_beginning();
  if (!examination.environment.value("mpi_fits", true))
    examine_mpi_library(findings, examination.environment);
  if (!findings.empty()) return report_without_mpi(findings, examination);
  take_out_invalid_settings(examination.environment);
  quieten_library();
  return std::nullopt;
}

// Keeps a core busy, to see whether there is one.
void look_for_others(Known& known) {
  constexpr double microseconds = 200'000;
  const bench::ThreadTimes before = bench::thread_times();
  for (const double start = now_us(); now_us() < start + microseconds;) {
  }
  bench::ThreadTimes passed;
  bench::add_passed(passed, before);
  known.ran = passed.ran;
  known.waited = passed.waited;
}

Known ask_library(const Examination& examination) {
  Known known;
  known.environment = examination.environment;
  // Where MPI_Init does not come through the library, this begins it; why it could not is told
  // below.
  static_cast<void>(PST_Init());
  known.why_not_ready = json::parse(describe_environment()).value("why_not_ready", "");
  if (known.why_not_ready.empty()) {
    known.description = json::parse(describe());
    look_for_others(known);
  }
  known.ranks_with_our_gpus = count_ranks_with_our_gpus(known.description);
  return known;
}

Findings examine(const Examination& examination, const Session& session) {
  Progress progress(session.is_root(), 3);
  progress.advance("asking the library");
  const Known known = ask_library(examination);
  Findings findings;
  examine_mpi_library(findings, known.environment);
  examine_mpi(findings, known, session, examination.asked_level);
  examine_library(findings, known);
  examine_version(findings, known);
  const bool ready = !known.description.is_null();
  const int ranks_on_host = ready ? known.description.value("ranks_on_host", 1) : session.size();
  if (ready) {
    examine_transports(findings, known);
    examine_network(findings, known);
    examine_gpus(findings, known);
    examine_cores(findings, known);
  }
  progress.advance("looking at the machine");
  examine_copies(findings, known);
  examine_shared_memory(findings, ranks_on_host);
  examine_limits(findings, ranks_on_host);
  examine_recording(findings, known.environment);
  if (!examination.program.empty())
    examine_program(findings, known.environment, examination.program);
  examine_settings(findings, known.environment);
  examine_tuning(findings, known.environment);
  progress.advance("");
  return findings;
}

int run(const Examination& examination, const Session& session) {
  const auto all = bring_together(examine(examination, session), session);
  // Of processes that are each alone the first one speaks.
  const bool alone_beside_others = session.size() == 1 && launch_of_environment().rank > 0;
  int status = alone_beside_others ? 1 : 0;
  if (session.is_root() && !alone_beside_others) status = print_report(all, examination.as_json);
  MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
  static_cast<void>(PST_Finalize());
  return status;
}

}  // namespace
}  // namespace doctor

void add_doctor(CLI::App& parent, Command& command) {
  CLI::App* const app = parent.add_subcommand(
      "doctor", "Look for what is wrong on this machine, and tell what mends it");
  app->footer("Exit status: 0 without faults, 1 with one or more, 2 for wrong use.");
  const auto examination = std::make_shared<doctor::Examination>();
  app->add_flag("--json", examination->as_json, "Print JSON");
  app->add_option("--program", examination->program,
                  "Look also whether MPI calls of this program are recorded (by ldd)")
      ->type_name("FILE");
  add_thread_option(*app, command, ", as the program asks for it (default: single, as MPI_Init)");
  app->callback([examination, &command] {
    if (command.thread.empty()) command.thread = "single";
    examination->asked_level = command.thread_level();
    command.before_mpi = [examination] { return doctor::examine_before_mpi(*examination); };
    command.run = [examination](const Session& session) {
      return doctor::run(*examination, session);
    };
  });
}

}  // namespace penstock::tool
