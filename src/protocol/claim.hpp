// SPDX-License-Identifier: Apache-2.0
// Who copies an epoch of a rendezvous whose data stayed in the send buffer: exactly one of the two waits. Whoever gets
// Claim::won copies at once, before it waits for anything else (L10); who gets Claim::lost may rely on the other.
#pragma once

#include "protocol/port.hpp"

namespace penstock::protocol {

enum class Claim : std::uint8_t { won, lost, contended };

// Two flags and two fences leave one case open: a sender that reads the receiver's wish cannot know whether the
// receiver saw its own. The receiver therefore answers, by FIN (it pulled) or by 2e+2 (it gave way), and never waits
// here.
template <Port P>
PENSTOCK_HD Claim claim_as_sender(P& port, Epoch epoch) {
  if constexpr (P::native_atomics) {
    return port.exchange(Word::claim, epoch) != epoch ? Claim::won : Claim::lost;
  } else {
    port.template store<Order::seq_cst>(Word::push, epoch);
    port.fence();  // own wish before the look at the other's
    return port.template load<Order::seq_cst>(Word::pull) < 2 * epoch + 1 ? Claim::won : Claim::contended;
  }
}

template <Port P>
PENSTOCK_HD Claim claim_as_receiver(P& port, Epoch epoch) {
  if constexpr (P::native_atomics) {
    return port.exchange(Word::claim, epoch) != epoch ? Claim::won : Claim::lost;
  } else {
    port.template store<Order::seq_cst>(Word::pull, 2 * epoch + 1);
    port.fence();
    if (port.template load<Order::seq_cst>(Word::push) < epoch) return Claim::won;
    port.template store<Order::release>(Word::pull, 2 * epoch + 2);
    return Claim::lost;
  }
}

}  // namespace penstock::protocol
