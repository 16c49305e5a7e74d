// SPDX-License-Identifier: Apache-2.0
// Visits every state that a scenario can reach, breadth first, so that the interleaving printed for a failure is a
// shortest one.
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
  lemma,    // in every state, a wait whose epoch the peer has started ends by its own steps: holds for all orders of
            // calls
  programs  // and from every state the end of all programs can be reached
};

constexpr std::size_t default_state_limit = 30'000'000;

Result explore(const Scenario& scenario, const World& world, Liveness liveness,
               std::size_t state_limit = default_state_limit);

template <template <class> class Change = Unchanged>
Result explore(const Scenario& scenario, Liveness liveness) {
  std::vector<Machine> machines;
  for (const PairSpec& spec : scenario.pairs) machines.push_back(machine_for<Change>(spec));
  return explore(scenario, World(scenario, machines), liveness);
}

}  // namespace penstock::explorer
