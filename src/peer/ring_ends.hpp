// SPDX-License-Identifier: Apache-2.0
// The two ends of a ring, for EndPlan: by the kind of send and the size of a line.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "peer/host_port.hpp"
#include "peer/pair_end.hpp"
#include "protocol/closing.hpp"
#include "protocol/ring.hpp"

namespace penstock::peer {

std::string missing_from_receiver(const SenderBlock& block, protocol::Mode mode,
                                  protocol::Epoch epoch, unsigned slots);

template <protocol::Side its_side, std::size_t line_bytes>
struct RingEnd {
  static constexpr protocol::Side side = its_side;
  static constexpr bool copies = false;  // by the worker, within this process's memory
  using Port = HostPort<line_bytes>;
  using State = StateOf<side>;

  static std::optional<base::Error> broken(const State&) { return std::nullopt; }
  static void close_out_of_order(Port& port, const State& state) noexcept {
    protocol::closing::close<side>(port, state.done + 1);
  }
};

template <protocol::Mode mode, std::size_t line_bytes>
struct RingSend : RingEnd<protocol::Side::sender, line_bytes> {
  using Port = HostPort<line_bytes>;
  static protocol::StartOutcome start(Port& port, protocol::SendState& state) noexcept {
    return protocol::ring::start_send<mode>(port, state);
  }
  static protocol::Progress wait(Port& port, protocol::SendState& state) noexcept {
    return protocol::ring::wait_send<mode>(port, state);
  }
  static std::string missing(const Port& port, protocol::Epoch epoch) {
    return missing_from_receiver(port.sender_block(), mode, epoch, port.slots());
  }
};

template <protocol::Mode mode, std::size_t line_bytes>
struct RingReceive : RingEnd<protocol::Side::receiver, line_bytes> {
  using Port = HostPort<line_bytes>;
  static protocol::StartOutcome start(Port& port, const protocol::ReceiveState& state) noexcept {
    protocol::ring::start_receive<mode>(port, state);
    return protocol::StartOutcome::started;
  }
  static protocol::Progress wait(Port& port, protocol::ReceiveState& state) noexcept {
    return protocol::ring::wait_receive(port, state);
  }
  static std::string missing(const Port&, protocol::Epoch) { return "the message"; }
};

}  // namespace penstock::peer
