// SPDX-License-Identifier: Apache-2.0
// What both models of giving up have in common: giving_up_test says what they are.
#pragma once

#include <cstdint>

#include "protocol/epoch.hpp"
#include "protocol/giving_up.hpp"
#include "protocol/parting.hpp"

namespace penstock::protocol::giving_up {

using Small = std::uint8_t;
constexpr Small epochs = 2;
enum Side : Small { sender, receiver };
constexpr Side other(Side side) {
  return side == sender ? receiver : sender;
}

// What the shipped code decides; planted defects take other decisions.
struct Rules {
  bool (*may_part)(const Credits&, Epoch, bool, bool) = protocol::may_part;
  bool (*receive_is_untouched)(bool, std::uint64_t, std::uint64_t) = protocol::receive_is_untouched;
  bool (*parts_by_itself)(Epoch, Epoch, Epoch) = protocol::parts_by_itself;
  bool (*may_part_from_mpi)(bool, bool) = protocol::may_part_from_mpi;
  bool (*window_parts_by_itself)(Epoch, Epoch) = protocol::window_parts_by_itself;
  bool (*send_is_untouched)(bool, bool) = protocol::send_is_untouched;
  bool sender_waits_for_its_writes = true;
  bool starts_see_refusal = true;
  bool refusal_sees_starts = true;
  bool receives_part_by_themselves = true;
  bool peer_closed_stops_receives = true;
  bool receives_answer_twice = true;
  bool any_notice_answers = false;
  bool doorbells_count_as_offers = false;
  bool last_message_counts_as_come = false;
};

// What both models have of a half.
struct Program {
  Small started = 0, waited = 0;
  Small calm = 0;    // it makes no more calls
  Small failed = 0;  // its queue has
  Small back = 0;    // and the wait behind it has ended: the buffer is the program's
};

// Every buffer of a queue that has failed is back, and nobody waits for what will never come.
template <class Halves>
bool may_end(const Halves& halves) {
  for (const Side side : {sender, receiver}) {
    const Program& program = halves[side].program;
    if (program.failed != 0 && program.back == 0) return false;
    if (halves[other(side)].program.failed != 0 && program.failed == 0 &&
        program.started > program.waited)
      return false;
  }
  return true;
}

}  // namespace penstock::protocol::giving_up
