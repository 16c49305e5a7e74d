// SPDX-License-Identifier: Apache-2.0
// Deliveries (protocol/delivery.hpp) of two or three members over the memory model: each is a
// thread that starts and waits epoch after epoch, as late as it likes, reads behind each wait what
// has come, and then writes all of its buffer. What they send differs from epoch to epoch, and all
// that comes is compared.
#pragma once

#include <array>
#include <cstdint>

#include "protocol/group_result.hpp"

namespace penstock::explorer::deliveries {

constexpr unsigned most_members = 3;

// What is planted, one at a time.
enum class Defect : std::uint8_t {
  none,
  cts_unread,     // a block is copied whether its receiver has started or not
  cts_of_before,  // that of an earlier epoch is taken for this one's
  cts_relaxed,
  done_first,       // before the block
  done_relaxed,     // and no fence behind the block
  done_of_before,   // is taken for this epoch's
  early_start,      // the next epoch's CTS goes before this one's wait has ended
  not_aside,        // in place, what goes stays where others write
  pairs_together,   // between barriers, blocks go as soon as they may
  goes_on,          // behind a wait that has been given up
  failure_unseen,   // a copy that has failed is taken for one
  closed_untold,    // to one of the others
  closed_unread,    // behind a copy
  no_fence,         // behind a copy
  closed_unfenced,  // before memory is the program's again
  closed_relaxed,
  closed_asked_relaxed,  // in a wait that may be hopeless
  reused_early           // a member's words, before the others have closed
};

// [from][to]: whether something goes.
using Blocks = std::array<std::array<bool, most_members>, most_members>;
constexpr Blocks all_blocks{{{true, true, true}, {true, true, true}, {true, true, true}}};

struct Scenario {
  unsigned members = 2;
  unsigned epochs = 6;
  Blocks blocks = all_blocks;
  bool together = false;
  bool in_place = false;
  // Bit m: member m may be released from any of its waits; may die anywhere, if no other one has.
  unsigned may_fail = 0;
  unsigned may_die = 0;
  // Bit m: any copy of member m may fail; it may be freed before any of its starts.
  unsigned may_fail_to_copy = 0;
  unsigned may_be_freed = 0;
  Defect defect = Defect::none;
};

GroupResult explore(const Scenario& scenario);

}  // namespace penstock::explorer::deliveries
