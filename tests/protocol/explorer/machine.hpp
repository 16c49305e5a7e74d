// SPDX-License-Identifier: Apache-2.0
// The step functions of src/protocol for one kind of pair, over whatever port a run of a call is
// given.
#pragma once

#include "protocol/explorer/port.hpp"
#include "protocol/window.hpp"

namespace penstock::explorer {

// How one end closes: closing.hpp, and what a kind of pair does before.
struct Closing {
  bool (*peer_closed)(ModelPort&, Epoch) = nullptr;
  void (*close)(ModelPort&, Epoch) = nullptr;    // freed in order
  void (*give_up)(ModelPort&, Epoch) = nullptr;  // released, or out of order
};

// What messages do not use of the states belongs to windows.
struct SenderState : protocol::window::OriginState {
  bool stored = false;  // the program has, behind open
};
struct ReceiverState : protocol::window::TargetState {
  bool posted = false;  // by the wait, to which a promised post's call has left it
};

struct Machine {
  // Before a start; pending: held up.
  protocol::Progress (*settle_send)(ModelPort&, SenderState&) = nullptr;
  protocol::StartOutcome (*start_send)(ModelPort&, SenderState&) = nullptr;
  protocol::Progress (*wait_send)(ModelPort&, SenderState&) = nullptr;
  void (*start_receive)(ModelPort&, ReceiverState&) = nullptr;
  protocol::Progress (*wait_receive)(ModelPort&, ReceiverState&) = nullptr;
  std::array<Closing, 2> closing;  // by Side
  bool send_has_wait = true;       // false: the next start settles it
  // Of a kind that ends untouched: in place of closing, and asked behind it.
  void (*give_up_receive)(ModelPort&, ReceiverState&) = nullptr;
  bool (*is_untouched)(ModelPort&, ReceiverState&) = nullptr;
};

Machine machine_for(const PairSpec& spec);

}  // namespace penstock::explorer
