// SPDX-License-Identifier: Apache-2.0
// A device may have no room for all blocks of all kernels that wait. Then one block of a kernel
// stays, and the others leave. What a block has to do, its duty, it hands to the one that stays,
// which does it when its own is done. A duty that is handed over is begun anew, at its first part
// that has not been done.
//
//   leave  another block stays: set the bit of my duty, and end; none stays: set STAYS, and wait on
//   next   a duty stands there: clear its bit, and do it;        none does: clear STAYS, and end
//
// All is one word, so no duty is handed to a block that has ended. The word is zero again when all
// blocks have ended. The leaver's release and the other's acquire order what both have stored for
// the duty.
#pragma once

#include <cstdint>

#include "protocol/port.hpp"

namespace penstock::protocol::relief {

inline constexpr std::uint64_t stays = 1;
inline constexpr int no_duty = -1;
// Duties that can be handed over: those of a kernel's first blocks.
inline constexpr unsigned most_duties = 63;

enum class Answer : std::uint8_t { leave, stay, wait };

// W: load (relaxed), and exchange_if(expected, desired) (acquire and release), which sets
// `expected` to what it finds where that differs. `may_stay`: this block waits for no other block
// of its kernel.
template <class W>
PENSTOCK_HD Answer leave(W& word, unsigned duty, bool may_stay) {
  std::uint64_t found = word.load();
  for (;;) {
    const bool somebody_stays = (found & stays) != 0;
    if (!somebody_stays && !may_stay) return Answer::wait;
    if (somebody_stays && duty >= most_duties) return Answer::wait;
    const std::uint64_t wanted = somebody_stays ? found | std::uint64_t{2} << duty : found | stays;
    if (word.exchange_if(found, wanted)) return somebody_stays ? Answer::leave : Answer::stay;
  }
}

// A block calls it that has done what cannot be done twice, so that it cannot leave, and that waits
// for no other block. Says whether it is the one that stays from now on. Until one does, none of
// the others can leave.
template <class W>
PENSTOCK_HD bool stay(W& word) {
  std::uint64_t found = word.load();
  while ((found & stays) == 0)
    if (word.exchange_if(found, found | stays)) return true;
  return false;
}

// The block that stays takes its next duty. The first blocks' duties come first: others of their
// kernel may wait for what these do.
template <class W>
PENSTOCK_HD int next(W& word) {
  std::uint64_t found = word.load();
  for (;;) {
    const std::uint64_t duties = found & ~stays;
    const std::uint64_t first = duties & (~duties + 1);
    if (!word.exchange_if(found, duties == 0 ? 0 : found & ~first)) continue;
    if (duties == 0) return no_duty;
    int duty = -1;
    for (std::uint64_t bit = first; bit > 1; bit >>= 1) ++duty;
    return duty;
  }
}

// The first part of a duty that has not been done. The parts of a duty are every blocks-th from its
// index on, and are done in that order. word(part): what doing it changes, the same for all parts
// before. The last part of a duty that is begun has not been done, so the parts that have been
// differ from it.
template <class WordOf>
PENSTOCK_HD unsigned first_part(unsigned index, unsigned blocks, unsigned parts, WordOf word) {
  const auto not_done = word(index + (parts - 1 - index) / blocks * blocks);
  unsigned part = index;
  while (word(part) != not_done) part += blocks;
  return part;
}

}  // namespace penstock::protocol::relief
