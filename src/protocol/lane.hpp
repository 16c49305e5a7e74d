// SPDX-License-Identifier: Apache-2.0
// Messages whose two ends number them alike, so that no match is needed: message n of a sender
// meets receive n. They go through slots at the receiver, message n through slot n modulo their
// number. Each slot has two words, of one writer each:
//   HEAD   by the sender: which message lies in the slot
//   TAKEN  by the receiver: which message it has taken out last
// A slot is free when both are equal. Numbers are whole, 64 bits: a slot's earlier messages are
// never mistaken for a later one. Neither call waits; both are tried again.
//
// Receives may be tried in any order. A sender sends in the order of the numbers: a later message
// that took the slot of an earlier one would stay there until its receive is tried, which a program
// may do only behind the earlier one.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>

#include "base/host_device.hpp"

namespace penstock::protocol::lane {

using Number = std::uint64_t;  // counted from 1
using Order = std::memory_order;

enum class Word : std::uint8_t { head, taken };

template <class P>
concept Port = requires(P port, Word word, unsigned slot, Number number) {
  { port.template load<Order::acquire>(word, slot) } -> std::same_as<Number>;
  port.template store<Order::release>(word, slot, number);
  port.fill(slot);   // sender: the message, into the slot
  port.drain(slot);  // receiver: out of the slot
  { port.slots() } -> std::convertible_to<unsigned>;
};

// False: the slot holds a message that has not been taken.
template <Port P>
PENSTOCK_HD bool send(P& port, Number number) {
  const auto slot = static_cast<unsigned>(number % port.slots());
  // Acquire: the receiver's loads from the slot come before the stores below.
  const Number taken = port.template load<Order::acquire>(Word::taken, slot);
  if (taken != port.template load<Order::relaxed>(Word::head, slot)) return false;
  port.fill(slot);
  port.template store<Order::release>(Word::head, slot, number);
  return true;
}

// False: the message is not in its slot.
template <Port P>
PENSTOCK_HD bool receive(P& port, Number number) {
  const auto slot = static_cast<unsigned>(number % port.slots());
  if (port.template load<Order::acquire>(Word::head, slot) != number) return false;
  port.drain(slot);
  port.template store<Order::release>(Word::taken, slot, number);
  return true;
}

}  // namespace penstock::protocol::lane
