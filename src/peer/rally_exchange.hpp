// SPDX-License-Identifier: Apache-2.0
// The direct exchange, for GroupPlan: a start stores to all, a wait takes from all.
#pragma once

#include <string>

#include "peer/rally_port.hpp"
#include "protocol/rally.hpp"

namespace penstock::peer {

struct RallyExchange {
  using Port = RallyPort;
  using State = protocol::rally::State;
  static constexpr const char* name = "direct exchange";

  static std::string path(const Port&) { return "direct exchange in shared memory"; }
  static protocol::StartOutcome start(Port& port, State& state) noexcept {
    return protocol::rally::start(port, state);
  }
  static protocol::Progress wait(Port& port, State& state) noexcept {
    return protocol::rally::wait(port, state);
  }
  static bool misses(const Port& port, unsigned member, protocol::Epoch epoch) noexcept {
    const protocol::rally::State at_last_line{epoch - 1, port.lines_from(member) - 1};
    return protocol::rally::misses(port, at_last_line, member);
  }
  static bool has_closed(const Port& port, unsigned member, protocol::Epoch epoch) noexcept {
    return member != port.me() && protocol::closed_before(port.load_closed(member), epoch);
  }
  // Every epoch needs every member.
  static bool is_hopeless(const Port& port, protocol::Epoch epoch) noexcept {
    return protocol::rally::member_closed(port, epoch);
  }
  static void close(Port& port, const State& state) noexcept {
    protocol::rally::close(port, state);
  }
  static Port words_of(const Port& port) { return port; }
  static bool all_closed(Port& port) noexcept { return protocol::rally::all_closed(port); }
};

}  // namespace penstock::peer
