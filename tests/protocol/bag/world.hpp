// SPDX-License-Identifier: Apache-2.0
// A bag (protocol/bag.hpp) over the memory model: sources that put message after message, and
// threads of the receiver that grab as many each. What is put differs from message to message; who
// grabs compares, overwrites the slot and gives it back; who gives up uses its memory at once.
#pragma once

#include <cstdint>

#include "protocol/group_result.hpp"

namespace penstock::explorer::bags {

constexpr unsigned most_sources = 2, most_slots = 3;

// What is planted, one at a time.
enum class Defect : std::uint8_t {
  none,
  head_first,          // before the message
  put_unasked,         // whether the slot has been given back or not
  released_of_any,     // slot is asked, in place of the one that is filled
  entry_late,          // behind HEAD
  entry_behind,        // is read behind the claim
  entry_unread,        // slots are taken to be filled in turn
  released_early,      // before the last use
  claimed_by_a_store,  // in place of an exchange
  claimed_unseen,      // whether the message is there or not
  head_relaxed,        // and no fence behind the message
  head_asked_relaxed,
  released_relaxed,
  released_asked_relaxed,
  closed_unread,     // behind WRITING
  unfenced,          // between WRITING and the look at CLOSED
  closed_unfenced,   // before the look at WRITING
  left_at_once,      // a receiver does not look at WRITING
  writing_unmarked,  // a source does not say that it writes
  written_relaxed,   // WRITING, behind the message
  writing_asked_relaxed,
  closed_asked_relaxed,  // by a grab that may be hopeless
  asked_once,            // a grab does not look again behind that
  left_alone,            // a thread that ends does not wait for those that have grabbed
  counted_relaxed,       // that it has ended, by each thread
  dropped  // what was claimed, when the bag is given up or its source dead before it is used
};

struct Scenario {
  unsigned sources = 1, grabbers = 1;
  unsigned slots = 2;
  unsigned messages = 3;  // of each source; each grabber takes as many as the others
  unsigned held = 1;      // messages that a grabber has at once; the last one is released first
  // Bit t: thread t may be released from any of its waits, or die. Grabbers come last: one that is
  // released gives the bag up, which ends the others' waits, and the last of them to end frees it.
  // Where an end may fail, all are freed in the end.
  unsigned may_fail = 0;
  unsigned may_die = 0;
  Defect defect = Defect::none;
};

GroupResult explore(const Scenario& scenario);

}  // namespace penstock::explorer::bags
