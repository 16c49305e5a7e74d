// SPDX-License-Identifier: Apache-2.0
// What the threads of a scenario do: each call is a stretch of a thread's program, run until its
// next access.
#pragma once

#include "protocol/team/state.hpp"

namespace penstock::explorer::teams {

// A value of `at` for each call of a program.
struct BlockAt {
  static constexpr std::uint8_t begin = 0, look = 1, poll = 2, copy = 3, release = 4, tell = 5,
                                end = 6, leave = 7, alone = 8;
};
struct PeerAt {
  static constexpr std::uint8_t start = 0, wait = 1, close = 2, leave = 3;
};
constexpr std::uint8_t finished = 255;

// The value of `at` when the call has ended; the same one if it has looked in vain.
std::uint8_t call_block(const Scenario& scenario, Hands& hands);
std::uint8_t call_peer(const Scenario& scenario, Hands& hands);

}  // namespace penstock::explorer::teams
