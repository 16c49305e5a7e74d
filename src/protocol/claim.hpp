// SPDX-License-Identifier: Apache-2.0
// Who copies an epoch of a rendezvous whose data stayed in the send buffer: exactly one of the two
// waits. Whoever gets Claim::won copies at once, before it waits for anything else (L10); who gets
// Claim::lost may rely on the other.
#pragma once

#include "protocol/port.hpp"

namespace penstock::protocol {

enum class Claim : std::uint8_t { won, lost, contended };

// The word may hold a later epoch: the receiver has pulled this one, begun the next and given that
// up (forbid_claim). Where its buffer rests on that, the sender, who alone comes late, puts it
// back.
template <Port P>
PENSTOCK_HD Claim claim_by_exchange(P& port, Epoch epoch) {
  const Epoch before = port.exchange(Word::claim, epoch);
  if constexpr (EndsUntouched<P>)
    if (before > epoch) port.exchange(Word::claim, before);
  return before < epoch ? Claim::won : Claim::lost;
}

// Two flags and two fences leave one case open: a sender that reads the receiver's wish cannot know
// whether the receiver saw its own. The receiver therefore answers, by FIN (it pulled) or by 2e+2
// (it gave way), and never waits here.
template <Port P>
PENSTOCK_HD Claim claim_as_sender(P& port, Epoch epoch) {
  if constexpr (P::native_atomics) {
    return claim_by_exchange(port, epoch);
  } else {
    port.template store<Order::seq_cst>(Word::push, epoch);
    port.template fence<Order::seq_cst>();  // own wish before the look at the other's
    return port.template load<Order::seq_cst>(Word::pull) < 2 * epoch + 1 ? Claim::won
                                                                          : Claim::contended;
  }
}

template <Port P>
PENSTOCK_HD Claim claim_as_receiver(P& port, Epoch epoch) {
  if constexpr (P::native_atomics) {
    return claim_by_exchange(port, epoch);
  } else {
    port.template store<Order::seq_cst>(Word::pull, 2 * epoch + 1);
    port.template fence<Order::seq_cst>();
    if (port.template load<Order::seq_cst>(Word::push) < epoch) return Claim::won;
    port.template store<Order::release>(Word::pull, 2 * epoch + 2);
    return Claim::lost;
  }
}

// For a side that gives the epoch up, before it closes: no wait of the other side begins to copy it
// from now on. It is a courtesy to the user's memory, not what truth rests on: a copy that has
// begun goes on, and a start pushes without a claim; both find CLOSED afterwards. (Where a receive
// ends untouched, rendezvous.hpp, its user's memory rests on the claim.) By flags each
// word is moved past every value that would let the other side copy: to 2e+3, PULL is neither free
// nor the answer of who gave way. It stores and does not look, and never waits.
template <Side side, Port P>
PENSTOCK_HD void forbid_claim(P& port, Epoch epoch) {
  if constexpr (P::native_atomics)
    port.exchange(Word::claim, epoch);
  else if constexpr (side == Side::sender)
    port.template store<Order::seq_cst>(Word::push, epoch + 1);
  else
    port.template store<Order::seq_cst>(Word::pull, 2 * epoch + 3);
}

}  // namespace penstock::protocol
