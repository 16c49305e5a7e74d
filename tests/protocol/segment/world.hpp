// SPDX-License-Identifier: Apache-2.0
// A channel by words (protocol/segment.hpp) over the memory model: one sending thread or two, each
// with its own units, and a receiver. Each end cuts the units into ranges as it likes. What is sent
// differs from message to message, the receiver compares and then overwrites all that comes, and
// who gives up uses its buffer at once.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "protocol/group_result.hpp"

namespace penstock::explorer::segments {

constexpr unsigned most_units = 3;

// What is planted, one at a time.
enum class Defect : std::uint8_t {
  none,
  arrived_first,      // before the message
  put_unasked,        // whether the unit is released or not
  released_early,     // before the receiver's last use
  arrived_of_before,  // is taken for this message's
  first_unit_alone,   // a wait looks at no other unit of its range
  arrived_relaxed,
  arrived_asked_relaxed,  // by the wait
  released_relaxed,
  released_asked_relaxed,  // by the put
  closed_unread,           // before a message
  unfenced,                // between WRITING and the look at CLOSED
  closed_unfenced,         // before the look at WRITING
  left_at_once,            // a receiver does not look at WRITING
  writing_unmarked,        // a sender does not count itself
  written_relaxed,         // WRITING, behind the messages
  writing_asked_relaxed,
  closed_asked_relaxed  // by a wait that may be hopeless
};

// Units in each range, from the first unit on.
using Cut = std::vector<unsigned>;

struct Scenario {
  unsigned units = 2;
  unsigned messages = 3;
  Cut sent{1, 1}, taken{2};
  unsigned senders = 1;  // 2: the second has the last unit alone
  // Bit t: thread t may be released from any of its waits. The receiver comes last.
  unsigned may_fail = 0;
  unsigned may_die = 0;
  Defect defect = Defect::none;
};

GroupResult explore(const Scenario& scenario);

}  // namespace penstock::explorer::segments
