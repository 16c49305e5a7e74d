// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "protocol/epoch.hpp"
#include "protocol/gate.hpp"

namespace penstock::relay {

// What a GPU's stream and the relay tell each other about one half of a pair. In memory of the host
// that both address; zero at first. Words only grow, and each has one writer: so a captured
// start or wait can be replayed.
struct RelayWords {
  // The stream's. Release, and acquire by the relay: what the stream did before its start comes
  // before the message.
  alignas(64) std::uint64_t started;  // e: start e has run
  std::uint64_t done;                 // e: wait e has ended; in stream order only
  std::uint64_t awaited;              // e: wait e lasts
  // The relay's. Release, and acquire by the stream: the message comes before what the stream does
  // after its wait.
  alignas(64) std::uint64_t completed;  // e: epoch e is complete; no_more: no later one will be
  // It stands before the kernel of a wait, where many wait, and is opened behind `completed`.
  protocol::gate::GateWords gate;
};

using protocol::no_more;

}  // namespace penstock::relay
