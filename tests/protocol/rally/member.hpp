// SPDX-License-Identifier: Apache-2.0
// What a member does: its calls in turn, each of which is run until its next access.
#pragma once

#include "protocol/rally/state.hpp"

namespace penstock::explorer::rallies {

// What the thread does next when the call has ended; the same call again if it has looked in vain.
At call_member(const Scenario& scenario, State& state, Replay& hands);

// A wait is given up, at a moment of the search's choice.
void release(const Scenario& scenario, Actor& actor);

}  // namespace penstock::explorer::rallies
