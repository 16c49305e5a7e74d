// SPDX-License-Identifier: Apache-2.0
// Blocks that are delivered into the receivers' buffers, for GroupPlan: a start lets others write,
// a wait copies to all.
#pragma once

#include <string>

#include "peer/delivery_port.hpp"
#include "protocol/delivery.hpp"

namespace penstock::peer {

struct DeliveryExchange {
  using Port = DeliveryPort;
  using State = protocol::delivery::State;
  static constexpr const char* name = "delivery";

  static std::string path(const Port& port) {
    return port.between_barriers() ? "delivery between barriers" : "delivery by pairs";
  }
  static protocol::StartOutcome start(Port& port, State& state) noexcept {
    return protocol::delivery::start(port, state);
  }
  static protocol::Progress wait(Port& port, State& state) noexcept {
    return protocol::delivery::wait(port, state);
  }
  static bool misses(const Port& port, unsigned member, protocol::Epoch epoch) noexcept {
    return protocol::delivery::misses(port, member, epoch);
  }
  static bool has_closed(const Port& port, unsigned member, protocol::Epoch epoch) noexcept {
    return protocol::delivery::has_closed(port, member, epoch);
  }
  static bool is_hopeless(const Port& port, protocol::Epoch epoch) noexcept {
    return protocol::delivery::is_hopeless(port, epoch);
  }
  static void close(Port& port, const State& state) noexcept {
    protocol::delivery::close(port, state);
  }
  // What all_closed() needs: the plan's memory for what goes in place is not kept for that.
  static Port words_of(const Port& port) { return port.without_aside(); }
  static bool all_closed(Port& port) noexcept { return protocol::delivery::all_closed(port); }
};

}  // namespace penstock::peer
