// SPDX-License-Identifier: Apache-2.0
// When a half that has been given up has its buffer back. One of the two halves moves the bytes,
// and its notice waits until nothing of it is under way. The other one waits for that:
//
//          moves the bytes   its notice waits for    the other one waits for
//   ofi    the send          the ends of its writes  all that it asked for, or that notice
//   proxy  the receive       MPI to be done          its own end, or the answer to its notice
//
// It would wait for ever if the notice took a call of the program that moves: so a half that hears
// of its peer's end gives its own notice by itself. tests/protocol/giving_up_test runs these
// decisions in every order of a network, and of MPI.
#pragma once

#include <cstdint>

#include "protocol/epoch.hpp"

namespace penstock::protocol {

// Over a network, whether a given-up receive has its buffer back: all that its sender may write has
// come, or the sender's notice is here.
constexpr bool receive_is_untouched(bool all_arrived, std::uint64_t closed,
                                    std::uint64_t parting) noexcept {
  return all_arrived || (closed != 0 && parting != 0);
}

// With MPI it is the receive that moves the bytes. A sender's notice goes at once; that of a
// receive goes when MPI has none of its messages under way.
constexpr bool may_part_from_mpi(bool sends, bool active) noexcept {
  return sends || !active;
}

// Whether a given-up send has its buffer back. MPI may keep a send that no receive takes. That is
// over when no receive is left, and when the message is no more in a queue of MPI's on its way out:
// so when the receive has answered the send's notice, which went the same way behind it.
constexpr bool send_is_untouched(bool active, bool answered) noexcept {
  return !active || answered;
}

// Whether a half that its program has not given up parts by itself, as the peer is gone: it serves
// nothing more, and what it has begun is over or wanted no more.
constexpr bool parts_by_itself(Epoch peer_closed, Epoch started, Epoch complete) noexcept {
  return peer_closed != 0 && (closed_before(peer_closed, started) || complete >= started);
}

// The ends of a window's pair over MPI both send and receive: each is what both halves of a message
// are. Its notice waits for its receives, and says so to a peer that still sends. It parts by
// itself behind all epochs that the peer has served; posts and pages of those may be to come.
constexpr bool window_parts_by_itself(Epoch peer_closed, Epoch complete) noexcept {
  return peer_closed != 0 && complete + 1 >= peer_closed;
}

}  // namespace penstock::protocol
