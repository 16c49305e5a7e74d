// SPDX-License-Identifier: Apache-2.0
// The checks of `penstock doctor`, by subject. Each adds what it finds on this rank; what the
// library knows it is asked for, by its description of itself and of the environment.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "penstock/doctor_finding.hpp"
#include "support/session.hpp"

namespace penstock::tool::doctor {

// What the checks go by.
struct Known {
  nlohmann::json environment;   // as this process was started
  nlohmann::json description;   // null where the library is not ready
  std::string why_not_ready;    // with the invalid settings taken out
  int ranks_with_our_gpus = 1;  // of this host, that see the same GPUs as this rank
  double ran = 0, waited = 0;   // seconds of threads, while this rank was kept busy
};

// Before MPI begins: whether its library is one that this command can run with.
void examine_mpi_library(Findings& findings, const nlohmann::json& environment);
// What is so short that MPI_Init would end the process. Empty where nothing is.
Findings what_keeps_mpi_from_beginning();
// How many ranks the launcher has started, and the thread level.
void examine_mpi(Findings& findings, const Known& known, const Session& session, int asked_level);
void examine_library(Findings& findings, const Known& known);
void examine_version(Findings& findings, const Known& known);
void examine_transports(Findings& findings, const Known& known);
void examine_network(Findings& findings, const Known& known);
// Of this host, that see the same GPUs as this rank. Collective.
int count_ranks_with_our_gpus(const nlohmann::json& description);
void examine_gpus(Findings& findings, const Known& known);
void examine_recording(Findings& findings, const nlohmann::json& environment);
void examine_settings(Findings& findings, const nlohmann::json& environment);
void examine_tuning(Findings& findings, const nlohmann::json& environment);

void examine_cores(Findings& findings, const Known& known);
void examine_copies(Findings& findings, const Known& known);
void examine_shared_memory(Findings& findings, int ranks_on_host);
void examine_limits(Findings& findings, int ranks_on_host);

// The libraries of another program and their order. Starts `ldd`.
void examine_program(Findings& findings, const nlohmann::json& environment,
                     const std::string& program);

}  // namespace penstock::tool::doctor
