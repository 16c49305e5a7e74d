// SPDX-License-Identifier: Apache-2.0
// The two ends of a rendezvous between buffers that each side can reach, for EndPlan: by the kind
// of send.
#pragma once

#include <optional>
#include <string>

#include "base/error.hpp"
#include "peer/host_port.hpp"
#include "peer/pair_end.hpp"
#include "protocol/rendezvous.hpp"

namespace penstock::peer {

std::string missing_receive(const SenderBlock& block);
std::string missing_send(const ReceiverBlock& block);

// Both ends wait with the buffer of a receive that is given up until no copy is under way.
struct RendezvousPort : HostPort<cache_line> {
  static constexpr bool ends_untouched = true;
  using HostPort<cache_line>::HostPort;
};

static_assert(protocol::EndsUntouched<RendezvousPort>);

template <protocol::Side its_side, protocol::Mode mode>
struct RendezvousEnd {
  static constexpr protocol::Side side = its_side;
  static constexpr bool copies = true;  // between address spaces, which may fail
  using Port = RendezvousPort;
  using State = StateOf<side>;

  static void close_out_of_order(Port& port, State& state) noexcept {
    if constexpr (side == protocol::Side::receiver)
      protocol::rendezvous::give_up_receive(port, state);
    else
      protocol::rendezvous::poison<mode, side>(port, state.done + 1);
  }
};

template <protocol::Mode mode>
struct RendezvousSend : RendezvousEnd<protocol::Side::sender, mode> {
  using Port = RendezvousPort;
  static protocol::StartOutcome start(Port& port, protocol::SendState& state) noexcept {
    return protocol::rendezvous::start_send<mode>(port, state);
  }
  static protocol::Progress wait(Port& port, protocol::SendState& state) noexcept {
    return protocol::rendezvous::wait_send<mode>(port, state);
  }
  static std::optional<base::Error> broken(const protocol::SendState&) { return std::nullopt; }
  static std::string missing(const Port& port, protocol::Epoch) {
    return missing_receive(port.sender_block());
  }
};

template <protocol::Mode mode>
struct RendezvousReceive : RendezvousEnd<protocol::Side::receiver, mode> {
  using Port = RendezvousPort;
  static protocol::StartOutcome start(Port& port, const protocol::ReceiveState& state) noexcept {
    protocol::rendezvous::start_receive<mode>(port, state);
    return protocol::StartOutcome::started;
  }
  static protocol::Progress wait(Port& port, protocol::ReceiveState& state) noexcept {
    return protocol::rendezvous::wait_receive<mode>(port, state);
  }
  static bool untouched(Port& port, protocol::ReceiveState& state) noexcept {
    return protocol::rendezvous::is_untouched(port, state);
  }
  static std::optional<base::Error> broken(const protocol::ReceiveState& state) {
    if (!state.promise_broken) return std::nullopt;
    return base::Error(base::ErrorKind::ready, "a later ready send was started before its receive");
  }
  static std::string missing(const Port& port, protocol::Epoch) {
    return missing_send(port.receiver_block());
  }
};

}  // namespace penstock::peer
