// SPDX-License-Identifier: Apache-2.0
// How the halves of a pair part where each has words that the other one writes, over a network that
// may deliver in any order. It decides when a half may say that it is gone, and when its own words
// may serve another pair. tests/protocol/parting_test runs these decisions in every order of a
// network.
//
// A half writes its peer's words by additions (credits: what it has taken out of its slots) and, as
// the last thing, by one notice. The notice says how many credits there have been. So who has the
// notice and as many credits knows that nothing is on its way to its words any more, whatever came
// first.
//
// It decides too when a half that has been given up has its buffer back. One of the two moves the
// bytes: the sender writes them into the receiver's memory, or MPI fetches them with its receive.
// That one's notice waits until nothing of it is under way. The other half has its buffer back when
// it has that notice, or has asked for nothing that has not come. It would wait for ever if the
// notice took a call of the program that moves: so a half that hears of its peer's end gives its
// own notice by itself.
#pragma once

#include <cstdint>

#include "protocol/epoch.hpp"

namespace penstock::protocol {

// What a receiver owes its sender: one credit an epoch that it has taken out.
struct Credits {
  Epoch given = 0;       // the network has them, and brings each one
  bool refused = false;  // it takes no more: the pair has failed

  constexpr bool owed(Epoch taken) const noexcept { return !refused && given < taken; }
};

// The notice comes after all that this half has to say to the peer's words, since afterwards they
// are the peer's own: no credit is given any more, and no question about them is open. Nor does it
// write into the peer's buffer any more.
constexpr bool may_part(const Credits& credits, Epoch taken, bool asking, bool writing) noexcept {
  return !credits.owed(taken) && !asking && !writing;
}

// The notice's second word; never 0, which means that it has not come.
constexpr std::uint64_t parting_word(const Credits& credits) noexcept {
  return credits.given + 1;
}

// Both words of the notice, which may come apart, and the credits that have come: nothing will any
// more.
constexpr bool words_are_free(std::uint64_t closed, std::uint64_t parting,
                              Epoch consumed) noexcept {
  return closed != 0 && parting != 0 && consumed == parting - 1;
}

// Whether a given-up receive has its buffer back: all has come that its sender may write, `offered`
// epochs, or the sender's notice is here.
constexpr bool receive_is_untouched(Epoch offered, Epoch arrived, std::uint64_t closed,
                                    std::uint64_t parting) noexcept {
  return arrived >= offered || (closed != 0 && parting != 0);
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

}  // namespace penstock::protocol
