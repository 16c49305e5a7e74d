// SPDX-License-Identifier: Apache-2.0
// The direct exchange (protocol/rally.hpp) of two or three members over the memory model: each is a
// thread, or two blocks of kernels, that starts and waits epoch after epoch, as late as it likes.
// What they send and combine differs from epoch to epoch, and all that comes is compared.
#pragma once

#include <array>
#include <cstdint>

#include "protocol/group_result.hpp"

namespace penstock::explorer::rallies {

constexpr unsigned most_members = 3;

// What is planted, one at a time.
enum class Defect : std::uint8_t {
  none,
  one_slot,             // in place of two
  one_slot_of_results,  // of the second flight
  flag_first,           // before the line's data
  flag_relaxed,
  look_relaxed,
  taken_late,     // a line is read behind the stores of the next start
  no_empty_line,  // for who gets nothing
  starts_early,   // the epoch behind the one that is waited for
  parity_only,    // is compared, of a flag
  own_first,      // is combined before what others have sent
  no_boundary,    // between the kernels of a member
  goes_on,        // behind a wait that has been given up
  closed_untold,  // to one of the others
  closed_relaxed,
  closed_asked_relaxed,  // in a wait that may be hopeless
  closed_read_relaxed,   // before memory is used again
  reused_early,          // a member's memory, before the others have closed
  takes_first            // of an exchange: a line is awaited before ours of its number is sent
};

// How a line travels.
enum class Form : std::uint8_t {
  lines,  // the host's: data, and a flag that orders them
  cells   // kernels': data and flag in one store, which orders nothing
};

// [from][to]: lines with data; 0: nothing is sent but the flag.
using Lines = std::array<std::array<std::uint8_t, most_members>, most_members>;
constexpr Lines one_each{{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}};
constexpr Lines two_each{{{2, 2, 2}, {2, 2, 2}, {2, 2, 2}}};

struct Scenario {
  unsigned members = 2;
  unsigned epochs = 6;
  unsigned flights = 1;
  unsigned flag_bits = 2;
  Form form = Form::lines;
  Lines lines = one_each;
  unsigned blocks = 1;    // line i is block i's
  bool apart = false;     // start and wait are calls, and kernels, of their own
  bool in_turns = false;  // start and wait are one, a line sent and a line taken
  unsigned ahead = 0;     // lines, then
  bool closes = true;     // behind the last epoch
  // Bit m: member m may be released from any of its waits; may die anywhere, if no other one has.
  unsigned may_fail = 0;
  unsigned may_die = 0;
  Defect defect = Defect::none;
};

GroupResult explore(const Scenario& scenario);

}  // namespace penstock::explorer::rallies
