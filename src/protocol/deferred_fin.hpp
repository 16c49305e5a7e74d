// SPDX-License-Identifier: Apache-2.0
// What a wait of a Deferred port leaves to the next one of its end: to say that the slot of its
// epoch is free.
#pragma once

#include "protocol/port.hpp"
#include "protocol/state.hpp"

namespace penstock::protocol {

// A wait calls it before it looks for its own epoch. Release: the loads from the slot, in the wait
// before, come first.
template <Port P>
PENSTOCK_HD void tell_deferred_fin(P& port, ReceiveState& state) {
  if constexpr (Deferred<P>) {
    if (!state.told) port.template store<Order::release>(Word::fin, state.done);
    state.told = true;
  }
}

}  // namespace penstock::protocol
