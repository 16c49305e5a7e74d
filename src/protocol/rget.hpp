// SPDX-License-Identifier: Apache-2.0
// Messages that their receiver reads out of the sender's buffer, when it has found their receive:
// no act of the sender's follows its announcement. The sender's n-th message to a receiver is
// number n, from 1 on. It is announced by a line (RTS) in a ring at the receiver, in the order of
// the numbers; what becomes of it is told by a word (FIN) at the sender.
//
// The receiver has two threads that may do its part, the program's and one of the library's. They
// take lines out of the ring in turns, under a lock of the port's owner. Under that lock, too, one
// of them makes a message its own, to pull it without the lock, and tells when it has: so the other
// may go on with the next one meanwhile.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>

#include "base/host_device.hpp"

namespace penstock::protocol::rget {

using Number =
    std::uint64_t;  // whole, 64 bits: a slot's earlier lines are not taken for later ones
using Order = std::memory_order;

// Each lies in the memory of who polls it. Why each has its order:
enum class Word : std::uint8_t {
  head,  // of a slot, at the receiver, by the sender; release/acquire: the line before its use, and
         // the data in the send buffer before the pull
  taken,  // at the sender, by the receiver: how many lines it has taken; release/acquire: its loads
          // from a slot before the next line there
  rung,   // at the receiver, by exchange: not 0: look into the ring
  asleep,  // at the receiver, by its thread: wake me. Against `rung` by sequential consistency: the
           // thread sees what has been rung, or the sender sees that it sleeps
  fin  // at the sender, of a message, by the receiver; release/acquire: the receiver's loads from
       // the send buffer before the next stores there
};

// One sender's ring at its receiver. `slot` counts for HEAD alone.
template <class P>
concept RingPort = requires(P port, Word word, unsigned slot, std::uint64_t value) {
  { port.template load<Order::acquire>(word, slot) } -> std::same_as<std::uint64_t>;
  port.template store<Order::release>(word, slot, value);
  { port.exchange(word, value) } -> std::same_as<std::uint64_t>;  // acq_rel
  port.template fence<Order::seq_cst>();
  port.fill(slot);   // sender: the line, into the slot
  port.drain(slot);  // receiver: out of the slot
  port.wake();       // the receiver's thread
  { port.slots() } -> std::convertible_to<unsigned>;
};

// One message, at its sender.
template <class P>
concept SentPort = requires(P port, Word word) {
  { port.template load<Order::acquire>(word, 0u) } -> std::same_as<std::uint64_t>;
};

// One message, at its receiver.
template <class P>
concept TakenPort = requires(P port, Word word, std::uint64_t value) {
  port.template store<Order::release>(word, 0u, value);
  port.pull();  // from the send buffer to the receive buffer
};

// ---- The sender

// Behind news for the receiver's threads; the receiver's own program rings, too.
template <RingPort P>
PENSTOCK_HD void ring(P& port) {
  port.exchange(Word::rung, 1);
  port.template fence<Order::seq_cst>();
  if (port.template load<Order::relaxed>(Word::asleep, 0) != 0) port.wake();
}

// False: the ring has no room, and nothing has been done.
template <RingPort P>
PENSTOCK_HD bool announce(P& port, Number number) {
  if (port.template load<Order::acquire>(Word::taken, 0) + port.slots() < number) return false;
  const auto slot = static_cast<unsigned>(number % port.slots());
  port.fill(slot);
  port.template store<Order::release>(Word::head, slot, number);
  ring(port);
  return true;
}

// What the receiver says of the message; 0: nothing yet. What it says is never 0, and differs from
// what it has said by this word before.
template <SentPort P>
PENSTOCK_HD std::uint64_t told(P& port) {
  return port.template load<Order::acquire>(Word::fin, 0);
}

// ---- The receiver

// Whether there may be lines. Who is told so takes all that there are.
template <RingPort P>
PENSTOCK_HD bool listen(P& port) {
  if (port.template load<Order::relaxed>(Word::rung, 0) == 0) return false;
  port.exchange(Word::rung, 0);
  return true;
}

// False: that line is not in its slot.
template <RingPort P>
PENSTOCK_HD bool take(P& port, Number number) {
  const auto slot = static_cast<unsigned>(number % port.slots());
  if (port.template load<Order::acquire>(Word::head, slot) != number) return false;
  port.drain(slot);
  port.template store<Order::release>(Word::taken, 0, number);
  return true;
}

// Before the thread sleeps. False: it may not, as somebody has rung.
template <RingPort P>
PENSTOCK_HD bool may_sleep(P& port) {
  port.template store<Order::relaxed>(Word::asleep, 0, 1);
  port.template fence<Order::seq_cst>();
  return port.template load<Order::relaxed>(Word::rung, 0) == 0;
}

// By the thread whose message it is. `fin`: what the sender is told.
template <TakenPort P>
PENSTOCK_HD void pull(P& port, std::uint64_t fin) {
  port.pull();
  port.template store<Order::release>(Word::fin, 0, fin);
}

}  // namespace penstock::protocol::rget
