// SPDX-License-Identifier: Apache-2.0
// A gate before a waiting kernel: a word that the device's front end compares with a constant, so that nothing occupies
// the device meanwhile. The constant is fixed when the wait is enqueued, and epochs are known to the device alone: so
// the word says only whether the gate is open. The waiter closes it after each wait, the poster opens it.
//
//   poster: POSTED = e                   waiter: OPEN = 0
//           fence                                fence
//           OPEN = 1                             POSTED >= e needed next: OPEN = 1
//
// The gate never stays closed for an epoch that has been posted: if OPEN = 0 comes after OPEN = 1, the fences make the
// waiter find POSTED = e. It may be open too early, when OPEN = 1 comes late. Then the kernel waits by itself, as one
// without a gate does: what a wait is for, it finds in the words of its protocol, and nothing rests on the gate.
#pragma once

#include "protocol/epoch.hpp"

namespace penstock::protocol::gate {

// Both words lie with the waiter. G: load_posted, store_posted, store_open (all relaxed), fence (sequentially
// consistent).
template <class G>
PENSTOCK_HD void post(G& gate, Epoch epoch) {
  gate.store_posted(epoch);
  gate.fence();
  gate.store_open(1);
}

// By the waiter, before it stands at the gate again; `needed`: the epoch that must have been posted by then.
template <class G>
PENSTOCK_HD void close(G& gate, Epoch needed) {
  gate.store_open(0);
  gate.fence();
  if (gate.load_posted() >= needed) gate.store_open(1);
}

}  // namespace penstock::protocol::gate
