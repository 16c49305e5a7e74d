// SPDX-License-Identifier: Apache-2.0
// A lane (protocol/lane.hpp) between kernels, where a sender tries its slot once: a kernel that
// waited for a slot would stop its stream. What finds no slot goes another way, so a slot skips
// numbers, and messages of two streams come in any order.
//
// A slot is cells, each of which carries a part of the message beside a flag. The message is whole
// when all cells that it needs show its flag, so nothing has to be ordered. The head, which every
// message writes, says which message it is and how long. HEAD of the host's lanes is a word of the
// sender's own here (SENT), beside what it knows of TAKEN (KNOWN).
//
// A flag counts the rounds of its slot, in few bits. So a message must find no cell that shows its
// flag already, after 2^bits - 1 skipped rounds or more. Of the head that is seen by SENT. The
// cells behind it may be older: when half of all flags have passed since all of them were written
// last (REFRESHED), a message goes another way, and the sender writes its flag to all of these
// cells instead.
#pragma once

#include <cstdint>

#include "base/host_device.hpp"
#include "protocol/lane.hpp"

namespace penstock::protocol::lane {

PENSTOCK_HD constexpr std::uint64_t flag_of(Number number, unsigned slots, unsigned bits) {
  return (number / slots + 1) & (~std::uint64_t{0} >> (64 - bits));
}

// That a slot shows whose last message had this number; 0: none yet.
PENSTOCK_HD constexpr std::uint64_t shown_flag(Number last, unsigned slots, unsigned bits) {
  return last == 0 ? 0 : flag_of(last, slots, bits);
}

// The sender's: whether its slot is free for the message. `taken` by acquire, as in send().
PENSTOCK_HD constexpr bool may_send(Number number, Number sent, Number taken, unsigned slots,
                                    unsigned bits) {
  return sent == taken && shown_flag(sent, slots, bits) != flag_of(number, slots, bits);
}

// The sender's: whether no cell shows a flag that the message may be taken by. `refreshed`: the
// last message that wrote all cells; 0: they are as they were made.
PENSTOCK_HD constexpr bool is_fresh(Number number, Number refreshed, unsigned slots,
                                    unsigned bits) {
  return number / slots - refreshed / slots < std::uint64_t{1} << (bits - 1);
}

}  // namespace penstock::protocol::lane
