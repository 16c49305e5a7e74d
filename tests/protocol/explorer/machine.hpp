// SPDX-License-Identifier: Apache-2.0
// The four step functions of src/protocol for one pair, instantiated over a model port (plain, or with a planted
// defect).
#pragma once

#include <stdexcept>

#include "protocol/explorer/port.hpp"
#include "protocol/rendezvous.hpp"
#include "protocol/ring.hpp"

namespace penstock::explorer {

struct Machine {
  protocol::StartOutcome (*start_send)(Step&, protocol::SendState&) = nullptr;
  protocol::Progress (*wait_send)(Step&, protocol::SendState&) = nullptr;
  void (*start_receive)(Step&, protocol::ReceiveState&) = nullptr;
  protocol::Progress (*wait_receive)(Step&, protocol::ReceiveState&) = nullptr;
};

template <Mode mode, class P>
Machine ring_machine() {
  static_assert(protocol::Port<P>);
  return {[](Step& s, protocol::SendState& state) {
            P port(s);
            return protocol::ring::start_send<mode>(port, state);
          },
          [](Step& s, protocol::SendState& state) {
            P port(s);
            return protocol::ring::wait_send<mode>(port, state);
          },
          [](Step& s, protocol::ReceiveState& state) {
            P port(s);
            protocol::ring::start_receive<mode>(port, state);
          },
          [](Step& s, protocol::ReceiveState& state) {
            P port(s);
            return protocol::ring::wait_receive(port, state);
          }};
}

template <Mode mode, class P>
Machine rendezvous_machine() {
  static_assert(protocol::Port<P>);
  using namespace protocol;
  return {[](Step& s, SendState& state) {
            P port(s);
            return rendezvous::start_send<mode>(port, state);
          },
          [](Step& s, SendState& state) {
            P port(s);
            return rendezvous::wait_send<mode>(port, state);
          },
          [](Step& s, ReceiveState& state) {
            P port(s);
            rendezvous::start_receive<mode>(port, state);
          },
          [](Step& s, ReceiveState& state) {
            P port(s);
            return rendezvous::wait_receive<mode>(port, state);
          }};
}

template <class P>
Machine machine_over(const PairSpec& spec) {
  const bool ring = spec.path == Path::ring;
  switch (spec.mode) {
    case Mode::standard:
      return ring ? ring_machine<Mode::standard, P>() : rendezvous_machine<Mode::standard, P>();
    case Mode::synchronous:
      return ring ? ring_machine<Mode::synchronous, P>() : rendezvous_machine<Mode::synchronous, P>();
    case Mode::ready:
      return ring ? ring_machine<Mode::ready, P>() : rendezvous_machine<Mode::ready, P>();
    case Mode::buffered:
      break;
  }
  if (!ring) throw std::logic_error("large buffered sends have no machine: they use a ring of their own");
  return ring_machine<Mode::buffered, P>();
}

template <class Port>
struct Unchanged : Port {
  using Port::Port;
};

template <template <class> class Change = Unchanged>
Machine machine_for(const PairSpec& spec) {
  if (spec.shares && spec.claim == ClaimBy::exchange) return machine_over<Change<SharingPort<true>>>(spec);
  if (spec.shares) return machine_over<Change<SharingPort<false>>>(spec);
  if (spec.claim == ClaimBy::exchange) return machine_over<Change<ModelPort<true>>>(spec);
  return machine_over<Change<ModelPort<false>>>(spec);
}

}  // namespace penstock::explorer
