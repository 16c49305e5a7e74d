// SPDX-License-Identifier: Apache-2.0
// Visits every state that a scenario can reach, breadth first, so that the interleaving printed for
// a failure is a shortest one.
#pragma once

#include "protocol/explorer/world.hpp"

namespace penstock::explorer {

struct Result {
  std::size_t states = 0;
  std::size_t steps = 0;
  std::string failure;  // empty, or what is wrong and the interleaving that leads to it
  bool ok() const { return failure.empty(); }
};

// Which form of "every wait ends" is asked of a scenario.
enum class Liveness : std::uint8_t {
  lemma,    // in every state, a wait whose epoch the peer has started ends by its own steps: holds
            // for all orders of calls
  programs  // and from every state the end of all programs can be reached
};

// With the ports of the model, or with those of a planted defect.
Result explore(const Scenario& scenario, Liveness liveness,
               MakePort make_port = &make_port<ModelPort>);
Result explore(const Scenario& scenario, Liveness liveness, const std::vector<Machine>& machines,
               MakePort make_port = &make_port<ModelPort>);

}  // namespace penstock::explorer
