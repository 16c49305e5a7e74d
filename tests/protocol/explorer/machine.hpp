// SPDX-License-Identifier: Apache-2.0
// The step functions of src/protocol for one pair, instantiated over a model port (plain, or with a planted defect).
#pragma once

#include <stdexcept>

#include "protocol/explorer/port.hpp"
#include "protocol/rendezvous.hpp"
#include "protocol/ring.hpp"

namespace penstock::explorer {

// How one end closes: closing.hpp, and what a kind of pair does before.
struct Closing {
  bool (*peer_closed)(Step&, Epoch) = nullptr;
  void (*close)(Step&, Epoch) = nullptr;    // freed in order
  void (*give_up)(Step&, Epoch) = nullptr;  // released, or out of order
};

struct Machine {
  protocol::StartOutcome (*start_send)(Step&, protocol::SendState&) = nullptr;
  protocol::Progress (*wait_send)(Step&, protocol::SendState&) = nullptr;
  void (*start_receive)(Step&, protocol::ReceiveState&) = nullptr;
  protocol::Progress (*wait_receive)(Step&, protocol::ReceiveState&) = nullptr;
  std::array<Closing, 2> closing;  // by Side
};

template <Side side, class P>
Closing closing_of(void (*give_up)(Step&, Epoch)) {
  return {[](Step& s, Epoch epoch) {
            P port(s);
            return protocol::closing::peer_closed<side>(port, epoch);
          },
          [](Step& s, Epoch epoch) {
            P port(s);
            protocol::closing::close<side>(port, epoch);
          },
          give_up};
}

template <Side side, class P>
Closing ring_closing() {
  Closing closing = closing_of<side, P>(nullptr);
  closing.give_up = closing.close;
  return closing;
}

template <Mode mode, Side side, class P>
Closing rendezvous_closing() {
  return closing_of<side, P>([](Step& s, Epoch epoch) {
    P port(s);
    protocol::rendezvous::give_up<mode, side>(port, epoch);
  });
}

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
          },
          {ring_closing<Side::sender, P>(), ring_closing<Side::receiver, P>()}};
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
          },
          {rendezvous_closing<mode, Side::sender, P>(), rendezvous_closing<mode, Side::receiver, P>()}};
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

template <template <class> class Change, bool closes>
Machine machine_with(const PairSpec& spec) {
  if (spec.shares && spec.claim == ClaimBy::exchange) return machine_over<Change<SharingPort<true, closes>>>(spec);
  if (spec.shares) return machine_over<Change<SharingPort<false, closes>>>(spec);
  if (spec.claim == ClaimBy::exchange) return machine_over<Change<ModelPort<true, closes>>>(spec);
  return machine_over<Change<ModelPort<false, closes>>>(spec);
}

template <template <class> class Change = Unchanged>
Machine machine_for(const PairSpec& spec) {
  return spec.may_close ? machine_with<Change, true>(spec) : machine_with<Change, false>(spec);
}

}  // namespace penstock::explorer
