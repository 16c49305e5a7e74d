// SPDX-License-Identifier: Apache-2.0
// Small messages: a ring of slots at the receiver. A start always finds its slot free, because the
// wait of the epoch before has seen to it; the data travels in lines that carry their own flag, so
// one cache line brings both.
//
// Where the port says Deferred, a wait leaves what it owes the epochs to come to the next call of
// its end:
//   - FIN of an epoch is stored by the receiver's next wait, before that looks for its own message.
//   - The wait of a standard or ready send does nothing. The next start, which stands behind it in
//     every order, may have to settle it first, and be held up where that wait would have been.
#pragma once

#include "protocol/closing.hpp"
#include "protocol/deferred_fin.hpp"
#include "protocol/port.hpp"
#include "protocol/state.hpp"

namespace penstock::protocol::ring {

// Whether the wait of a send does anything.
PENSTOCK_HD constexpr bool send_has_wait(Mode mode, bool deferred) {
  return mode == Mode::synchronous || !deferred;
}

// wait(send, e) asks for FIN of e + 1 - slots. When receive e has been started, the wait of receive
// e - 1 has ended: it has stored FIN of e - 1 itself, or deferred, of e - 2. With fewer slots a
// program that MPI lets proceed would hang (L1).
PENSTOCK_HD constexpr unsigned least_slots(bool deferred) {
  return deferred ? 3 : 2;
}

// The epoch of the next start. A send that has not been settled has been sent.
PENSTOCK_HD constexpr Epoch next_epoch(const SendState& state, bool has_wait) {
  return state.done + 1 + (!has_wait && state.posted ? 1 : 0);
}

template <Mode mode, Port P>
PENSTOCK_HD StartOutcome start_send(P& port, SendState& state) {
  const Epoch epoch = state.done + 1;
  const unsigned slots = port.slots();
  if (closing::peer_closed<Side::sender>(port, epoch)) return StartOutcome::peer_closed;
  if constexpr (mode == Mode::buffered) {
    // Acquire: the receiver's loads from the slot come before the stores below.
    if (port.template load<Order::acquire>(Word::fin) + slots < epoch)
      return StartOutcome::no_buffer;
  }
  if constexpr (mode == Mode::ready) {
    if (port.checks_ready() && port.template load<Order::acquire>(Word::cts) < epoch)
      return StartOutcome::receiver_not_started;
  }
  const unsigned slot = static_cast<unsigned>(epoch % slots);
  const std::uint64_t flag = line_flag(epoch, port.flag_bits());
  const std::uint32_t lines = port.lines();
  for (std::uint32_t line = 0; line < lines; ++line) {
    port.fill(slot, line);
    // release: the line's data, and all the sender did before, come first.
    port.store_flag(slot, line, flag);
  }
  if constexpr (!send_has_wait(mode, Deferred<P>)) state.posted = true;
  return StartOutcome::started;
}

// Defers the sender until the slot of its *next* epoch is free. That never delays a program that
// MPI lets proceed: see least_slots.
template <Mode mode, Port P>
PENSTOCK_HD Progress end_send(P& port, SendState& state) {
  const Epoch epoch = state.done + 1;
  // A message that the receiver has closed before taking is lost, whatever FIN and CTS say. No
  // fence: a ring never touches the other side's buffer.
  if (closing::peer_closed<Side::sender>(port, epoch)) return Progress::pending;
  if constexpr (mode == Mode::synchronous) {
    // Ends when the receive has been started. Not on FIN, which is written by the receiver's wait
    // (L8). CTS(e) also carries the receiver's loads of epoch e-1, so the next slot is free as
    // well.
    if (port.template load<Order::acquire>(Word::cts) < epoch) return Progress::pending;
  } else if constexpr (mode != Mode::buffered) {
    if (port.template load<Order::acquire>(Word::fin) + port.slots() < epoch + 1)
      return Progress::pending;
  }
  state.done = epoch;
  return Progress::ended;
}

template <Mode mode, Port P>
PENSTOCK_HD Progress wait_send(P& port, SendState& state) {
  static_assert(!Deferred<P> || mode != Mode::buffered, "a buffered send must not be held up");
  if constexpr (send_has_wait(mode, Deferred<P>))
    return end_send<mode>(port, state);
  else
    return Progress::ended;
}

// Before each start: the wait of the epoch before, if that has done nothing. Pending: the start is
// held up.
template <Mode mode, Port P>
PENSTOCK_HD Progress settle_send(P& port, SendState& state) {
  if constexpr (!send_has_wait(mode, Deferred<P>)) {
    if (!state.posted) return Progress::ended;
    const Progress progress = end_send<mode>(port, state);
    state.posted = progress == Progress::pending;
    return progress;
  } else {
    return Progress::ended;
  }
}

template <Mode mode, Port P>
PENSTOCK_HD void start_receive(P& port, const ReceiveState& state) {
  if (mode == Mode::synchronous || (mode == Mode::ready && port.checks_ready()))
    port.template store<Order::release>(Word::cts, state.done + 1);
}

template <Port P>
PENSTOCK_HD Progress wait_receive(P& port, ReceiveState& state) {
  const Epoch epoch = state.done + 1;
  tell_deferred_fin(port, state);
  const unsigned slot = static_cast<unsigned>(epoch % port.slots());
  const std::uint64_t flag = line_flag(epoch, port.flag_bits());
  const std::uint32_t lines = port.lines();
  while (state.line < lines) {
    if (port.load_flag(slot, state.line) != flag) return Progress::pending;
    port.drain(slot, state.line);
    ++state.line;
  }
  if constexpr (Deferred<P>)
    state.told = false;
  else
    port.template store<Order::release>(Word::fin, epoch);  // after the last load from the slot
  state.line = 0;
  state.done = epoch;
  return Progress::ended;
}

}  // namespace penstock::protocol::ring
