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

}  // namespace penstock::protocol
