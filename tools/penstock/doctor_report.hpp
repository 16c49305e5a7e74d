// SPDX-License-Identifier: Apache-2.0
// The findings of all ranks as one list, and how that is printed.
#pragma once

#include <vector>

#include "penstock/doctor_finding.hpp"
#include "support/session.hpp"

namespace penstock::tool::doctor {

// A finding, and the ranks that have it; of all where they are none.
struct SharedFinding {
  Finding finding;
  std::vector<int> ranks;
};

// Collective: the list on rank 0, an empty one elsewhere.
std::vector<SharedFinding> bring_together(const Findings& mine, const Session& session);
// Of one process, before MPI begins.
std::vector<SharedFinding> of_one(const Findings& findings);

// Returns the exit status: 1 with a fault.
int print_report(const std::vector<SharedFinding>& findings, bool as_json);

}  // namespace penstock::tool::doctor
