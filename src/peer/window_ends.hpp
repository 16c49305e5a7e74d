// SPDX-License-Identifier: Apache-2.0
// The two ends of a window's pair, for EndPlan.
#pragma once

#include <optional>
#include <string>

#include "base/error.hpp"
#include "peer/pair_end.hpp"
#include "peer/window_port.hpp"
#include "protocol/window.hpp"
#include "transport/window.hpp"

namespace penstock::peer {

std::string missing_from_target(const SenderBlock& block, protocol::Epoch epoch);

template <protocol::Side its_side, class ItsPort, class ItsState>
struct WindowEnd {
  static constexpr protocol::Side side = its_side;
  static constexpr bool copies = true;  // between address spaces, which may fail
  using Port = ItsPort;
  using State = ItsState;

  static std::optional<base::Error> broken(const State&) { return std::nullopt; }
  static void close_out_of_order(Port& port, const State& state) noexcept {
    protocol::closing::close<side>(port, state.done + 1);
  }
};

struct WindowOrigin : WindowEnd<protocol::Side::sender, OriginPort, protocol::window::OriginState> {
  static constexpr const char* advice = transport::origin_advice;
  static StartOutcome start(Port& port, const State& state) noexcept {
    port.begin_next();
    return protocol::window::begin_complete(port, state);
  }
  static protocol::Progress wait(Port& port, State& state) noexcept {
    return port.opens() ? protocol::window::open(port, state)
                        : protocol::window::complete(port, state);
  }
  static std::string missing(const Port& port, protocol::Epoch epoch) {
    return missing_from_target(port.sender_block(), epoch);
  }
};

struct WindowTarget
    : WindowEnd<protocol::Side::receiver, WindowPort, protocol::window::TargetState> {
  static constexpr const char* advice = transport::target_advice;
  static StartOutcome start(Port& port, const State& state) noexcept {
    protocol::window::post(port, state);
    return StartOutcome::started;
  }
  static protocol::Progress wait(Port& port, State& state) noexcept {
    return protocol::window::wait(port, state);
  }
  static std::string missing(const Port&, protocol::Epoch) { return "the origin's complete"; }
};

}  // namespace penstock::peer
