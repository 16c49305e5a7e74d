// SPDX-License-Identifier: Apache-2.0
// A gate before a waiting kernel: a word that the device's front end compares with a constant, so
// that nothing occupies the device meanwhile. The constant is fixed when the wait is enqueued, and
// epochs are known to the device alone: so the word says only whether the gate is open. The waiter
// closes it before it stands there, the poster opens it.
//
//   poster: { POSTED = e, OPEN = 1 }     waiter: OPEN = 0
//                                                fence
//                                                POSTED >= e needed next: OPEN = 1
//
// The two words lie in one of 64 bits, which the poster stores whole: each post costs it one store
// and no fence. The gate never stays closed for an epoch that has been posted: if OPEN = 0 comes
// after the post, the fence makes the waiter find POSTED = e. It may be open too early, when a post
// comes late. Then the kernel waits by itself, as one without a gate does: what a wait is for, it
// finds in the words of its protocol, and nothing rests on the gate.
#pragma once

#include <cstdint>

#include "protocol/epoch.hpp"

namespace penstock::protocol::gate {

// POSTED has the lower half of the epoch; no end is half of what that counts ahead of the other.
struct alignas(8) GateWords {
  std::uint32_t open;
  std::uint32_t posted;
};

PENSTOCK_HD constexpr bool has_posted(std::uint32_t posted, Epoch needed) {
  return static_cast<std::int32_t>(posted - static_cast<std::uint32_t>(needed)) >= 0;
}

// The words lie with the waiter. G: store_both (one store of 64 bits), load_posted, store_open (all
// relaxed), fence (sequentially consistent).
template <class G>
PENSTOCK_HD void post(G& gate, Epoch epoch) {
  gate.store_both({1, static_cast<std::uint32_t>(epoch)});
}

// By the waiter, before it stands at the gate again; `needed`: the epoch that must have been posted
// by then.
template <class G>
PENSTOCK_HD void close(G& gate, Epoch needed) {
  gate.store_open(0);
  gate.fence();
  if (has_posted(gate.load_posted(), needed)) gate.store_open(1);
}

}  // namespace penstock::protocol::gate
