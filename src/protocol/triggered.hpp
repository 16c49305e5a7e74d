// SPDX-License-Identifier: Apache-2.0
// How the two ends of a pair meet where counters of a network trigger what moves, and how those of
// a window tell each other what has come. tests/protocol/triggered_test runs these decisions in
// every order in which a network may deliver.
//
// The origin's trigger counts its own completes and its target's posts. What an epoch moves goes
// when both have come; when all of it has ended at the target, an addition to a word there ends the
// target's wait. Accumulates come in pages, for which the target has one place.
#pragma once

#include <cstdint>

#include "protocol/epoch.hpp"
#include "protocol/parting.hpp"

namespace penstock::protocol::triggered {

// What the trigger shows when both ends have come to an epoch. A complete ends behind its post, and
// the next post comes behind the wait for this one: so neither is two ahead of the other, and 2e
// is e of each.
constexpr std::uint64_t fires_at(Epoch epoch) noexcept {
  return 2 * epoch;
}

// What the origin knows of its epoch.
struct OriginEpoch {
  bool fired = false;       // the trigger has reached it
  bool ended = false;       // its writes and reads, as can be seen at the target
  bool pages_left = false;  // that the target has not applied
};

// Whether the target may be told that all has come.
constexpr bool may_tell(const OriginEpoch& epoch) noexcept {
  return epoch.fired && epoch.ended && !epoch.pages_left;
}

// Whether the complete has ended. `all_come`: may_tell(). `owes`: the network has not been given
// what tells the target. The origin might be given up before that, and its notice would say that
// the epoch was served.
constexpr bool is_complete(bool all_come, bool owes) noexcept {
  return all_come && !owes;
}

// Pages that the origin has told of, and those that the target has applied, as each end knows them.
constexpr bool may_fill_page(std::uint64_t told, std::uint64_t applied) noexcept {
  return told == applied;
}

// What the origin's notice counts as additions to words of the target.
constexpr Credits additions(Epoch epochs, std::uint64_t pages) noexcept {
  return {epochs + pages, false};
}

}  // namespace penstock::protocol::triggered
