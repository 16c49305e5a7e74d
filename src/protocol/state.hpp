// SPDX-License-Identifier: Apache-2.0
// The private words of each end: plain memory of the owner, touched only in the order of its
// stream. Both start and wait of an epoch compute it as done + 1, and only the end of a wait
// advances done; so no epoch is ever an argument of an enqueued call.
#pragma once

#include "protocol/epoch.hpp"

namespace penstock::protocol {

// Where a wait stands between two polls of memory. Starts never wait and need no stage.
enum class Stage : std::uint8_t {
  // Nothing decided in this wait.
  open,
  // Sender, claim by flags: both want to copy, the receiver's answer is awaited. The receiver
  // relies on this wait from now on: it must go on being polled until it ends, beside whatever else
  // its stream waits for.
  contended,
  // The other side copies, or neither side does any more: only its word ends the wait.
  lost
};

struct SendState {
  Epoch done = 0;
  // Rendezvous: the start left the data in the send buffer and announced it by RTS. Ring, deferred:
  // the wait of this epoch is left to the next start.
  bool posted = false;
  Stage stage = Stage::open;
  // Rendezvous: this end has copied all of the message or a part of it (closing.hpp).
  bool copied = false;
};

struct ReceiveState {
  Epoch done = 0;
  std::uint32_t line = 0;  // ring: lines taken in this wait
  bool told = false;       // ring, deferred: this wait has stored FIN of the epoch before
  Stage stage = Stage::open;
  bool copied = false;  // as above
  // Rendezvous that ends untouched: this end has the claim; the sender may be copying for a receive
  // that has been given up.
  bool pulls = false;
  bool touched = false;
  // Large ready sends: a later epoch was pushed over one that had not been received. Sticky.
  bool promise_broken = false;
};

}  // namespace penstock::protocol
