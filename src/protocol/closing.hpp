// SPDX-License-Identifier: Apache-2.0
// The end of a pair that the other side did not agree on. A side that frees its half, or is
// released from a wait, says in CLOSED which epoch it serves no more; then its user may use the
// buffers again, even while the other side copies from or into them. A copy that is under way
// cannot be called back, so whoever has copied asks afterwards whether the other side was still
// there, and does not report success if it was not.
#pragma once

#include <type_traits>

#include "protocol/port.hpp"

namespace penstock::protocol::closing {

template <Side side>
inline constexpr Word closed_by_us =
    side == Side::sender ? Word::sender_closed : Word::receiver_closed;
template <Side side>
inline constexpr Word closed_by_peer =
    side == Side::sender ? Word::receiver_closed : Word::sender_closed;

// Whether the other side serves `epoch` no more. Acquire: a message that it sent before it closed
// is seen by the look that follows (L21: what was sent whole is received). P is a Port, or a const
// one.
template <Side side, class P>
PENSTOCK_HD bool peer_closed(P& port, Epoch epoch) {
  if constexpr (std::remove_const_t<P>::may_close)
    return closed_before(port.template load<Order::acquire>(closed_by_peer<side>), epoch);
  else
    return false;
}

// This end's last store into the other's memory. Before the user may use the buffers again; which
// is why the caller tells nobody of the failure before this has returned.
template <Side side, Port P>
PENSTOCK_HD void close(P& port, Epoch first_not_served) {
  // Release: the last message comes before.
  port.template store<Order::release>(closed_by_us<side>, first_not_served);
  // The new use of the buffers comes after CLOSED: the other half of the fences in copy_holds.
  port.template fence<Order::seq_cst>();
}

// After this end has copied (all of the message, or a part), before its wait reports success: false
// if the message may be one that the other side had given up.
//   A sender has stored into the receive buffer. Its stores come before its look at CLOSED only by
//   a seq_cst fence; without one it could find the receiver there and its stores would still reach
//   a buffer in new use. A receiver has loaded from the send buffer. If it loaded from the new use,
//   the acquire fence makes the look find CLOSED, since the fence in close() lies before that use:
//   the pattern of a seqlock.
//   Where a receive ends untouched (rendezvous.hpp), what its sender has stored is out of the
//   question: the receiver waits for it.
template <Side side, Port P>
PENSTOCK_HD bool copy_holds(P& port, Epoch epoch) {
  if (port.copy_failed()) return false;
  if constexpr (side == Side::sender && EndsUntouched<P>) return true;
  constexpr Order order = side == Side::sender ? Order::seq_cst : Order::acquire;
  if constexpr (P::may_close) port.template fence<order>();
  return !peer_closed<side>(port, epoch);
}

}  // namespace penstock::protocol::closing
