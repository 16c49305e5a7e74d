// SPDX-License-Identifier: Apache-2.0
// Large messages between buffers that each side can reach. A start pushes if the receive has been
// started; otherwise it leaves the data and says so (RTS), and whichever side waits moves it: the
// sender by pushing, the receiver by pulling.
//
// A receive that is given up after its start may meet a sender that copies into its buffer. Where
// the port can (EndsUntouched), a push has the claim of its epoch, and the receiver, which has no
// other way to call it back, waits for DONE.
#pragma once

#include "protocol/claim.hpp"
#include "protocol/closing.hpp"
#include "protocol/port.hpp"
#include "protocol/state.hpp"

namespace penstock::protocol::rendezvous {

// A copy that failed is not announced: the other side's wait ends by CLOSED.
template <Word word, Port P>
PENSTOCK_HD void announce_copy(P& port, Epoch epoch) {
  if (!port.copy_failed()) port.template store<Order::release>(word, epoch);
}

// Moves the epoch's data and says so. Returns true when the receiver, already in its wait, copied a
// part of it. Then its loads from the send buffer end with FIN, as if it had pulled.
template <Port P>
PENSTOCK_HD bool push_epoch(P& port, SendState& state, Epoch epoch) {
  bool helped = false;
  state.copied = true;
  if constexpr (SharesCopies<P>)
    helped = port.push_with_help(epoch);
  else
    port.push();
  announce_copy<Word::done>(port, epoch);
  return helped;
}

// Whether a start may push. The claim of an epoch that was not posted can only be the receiver's,
// who has given it up.
template <Port P>
PENSTOCK_HD bool may_push(P& port, Epoch epoch) {
  if constexpr (EndsUntouched<P>)
    return claim_by_exchange(port, epoch) == Claim::won;
  else
    return true;
}

// Is called after a push in which the receiver took part: the send ends with FIN alone. The
// receiver is copying, so FIN comes.
PENSTOCK_HD inline void await_helper(SendState& state) {
  state.posted = true;
  state.stage = Stage::lost;
}

template <Mode mode, Port P>
PENSTOCK_HD StartOutcome start_send(P& port, SendState& state) {
  const Epoch epoch = state.done + 1;
  if (closing::peer_closed<Side::sender>(port, epoch)) return StartOutcome::peer_closed;
  if constexpr (mode == Mode::ready) {
    // The promise is all that is needed: it must not depend on seeing CTS, which may be visible
    // later than the promise.
    if (port.checks_ready() && port.template load<Order::acquire>(Word::cts) < epoch)
      return StartOutcome::receiver_not_started;
    if (!may_push(port, epoch)) return StartOutcome::peer_closed;
    if (push_epoch(port, state, epoch)) await_helper(state);
  } else if (port.template load<Order::acquire>(Word::cts) >= epoch) {
    state.posted = false;
    if (!may_push(port, epoch)) return StartOutcome::peer_closed;
    if (push_epoch(port, state, epoch)) await_helper(state);
  } else {
    state.posted = true;
    port.template store<Order::release>(Word::rts, epoch);
  }
  return StartOutcome::started;
}

// The end of a wait, unless what this end has copied does not hold. Then the wait never ends: each
// further poll comes back here.
template <Port P>
PENSTOCK_HD Progress end_send(P& port, SendState& state) {
  if (state.copied && !closing::copy_holds<Side::sender>(port, state.done + 1)) {
    await_helper(state);
    return Progress::pending;
  }
  state.copied = false;
  state.posted = false;
  state.stage = Stage::open;
  ++state.done;
  return Progress::ended;
}

// CTS may already be that of the next epoch: the receiver has pulled this one, ended its wait and
// started again. The claim is what keeps the sender from pushing old data then.
template <Mode mode, Port P>
PENSTOCK_HD Progress wait_send(P& port, SendState& state) {
  const Epoch epoch = state.done + 1;
  if (!state.posted) return end_send(port, state);  // pushed by the start
  if constexpr (SharesCopies<P>) {
    // Before the look at FIN, so that what this end has copied is complete when the wait ends.
    if (port.help_pull(epoch)) {
      state.copied = true;
      announce_copy<Word::done>(port, epoch);
    }
  }
  if (port.template load<Order::acquire>(Word::fin) >= epoch) return end_send(port, state);
  if (state.stage == Stage::lost) return Progress::pending;
  if (state.stage == Stage::contended) {
    if (port.template load<Order::acquire>(Word::pull) != 2 * epoch + 2) return Progress::pending;
  } else {
    if (port.template load<Order::acquire>(Word::cts) < epoch) return Progress::pending;
    const Claim claim = claim_as_sender(port, epoch);
    if (claim != Claim::won) {
      state.stage = claim == Claim::lost ? Stage::lost : Stage::contended;
      return Progress::pending;
    }
  }
  if (push_epoch(port, state, epoch)) {
    await_helper(state);
    return Progress::pending;
  }
  return end_send(port, state);
}

template <Mode mode, Port P>
PENSTOCK_HD void start_receive(P& port, const ReceiveState& state) {
  if (mode != Mode::ready || port.checks_ready())
    port.template store<Order::release>(Word::cts, state.done + 1);
}

template <Port P>
PENSTOCK_HD Progress end_receive(P& port, ReceiveState& state) {
  if (state.copied && !closing::copy_holds<Side::receiver>(port, state.done + 1)) {
    state.stage = Stage::lost;
    return Progress::pending;
  }
  state.copied = false;
  state.pulls = false;
  state.stage = Stage::open;
  ++state.done;
  return Progress::ended;
}

template <Mode mode, Port P>
PENSTOCK_HD Progress wait_receive(P& port, ReceiveState& state) {
  const Epoch epoch = state.done + 1;
  if constexpr (SharesCopies<P>) {
    // Before the look at DONE, so that what this end has copied is complete when the wait ends.
    if (port.help_push(epoch)) {
      state.copied = true;
      announce_copy<Word::fin>(port, epoch);
    }
  }
  const Epoch pushed = port.template load<Order::acquire>(Word::done);
  if (pushed >= epoch) {
    // A sender that keeps a ready send's promise is never past the epoch that this end waits for.
    // Here the buffer holds a later message, or parts of two.
    if (mode == Mode::ready && pushed > epoch) state.promise_broken = true;
    return state.promise_broken ? Progress::pending : end_receive(port, state);
  }
  if (mode == Mode::ready || state.stage == Stage::lost) return Progress::pending;
  if (port.template load<Order::acquire>(Word::rts) != epoch) return Progress::pending;
  if (claim_as_receiver(port, epoch) != Claim::won) {
    state.stage = Stage::lost;
    return Progress::pending;
  }
  bool helped = false;
  state.copied = true;
  state.pulls = true;
  if constexpr (SharesCopies<P>)
    helped = port.pull_with_help(epoch);
  else
    port.pull();
  announce_copy<Word::fin>(port, epoch);  // after the last load from the send buffer
  if (helped) {
    state.stage = Stage::lost;  // the sender is copying a part, and says DONE
    return Progress::pending;
  }
  return end_receive(port, state);
}

// This end is released from the epoch, or will never start it. A ring has no copies to forbid and
// only closes.
template <Mode mode, Side side, Port P>
PENSTOCK_HD void poison(P& port, Epoch epoch) {
  if constexpr (mode != Mode::ready) forbid_claim<side>(port, epoch);
  closing::close<side>(port, epoch);
}

// The same for a receive that may have been started. No copy by the sender begins any more; the
// buffer is the program's when is_untouched() says so.
template <EndsUntouched P>
PENSTOCK_HD void give_up_receive(P& port, ReceiveState& state) {
  const Epoch epoch = state.done + 1;
  state.touched =
      state.pulls ? port.refuse_help(epoch) : claim_by_exchange(port, epoch) == Claim::lost;
  closing::close<Side::receiver>(port, epoch);
}

// A sender that has the claim, or helps, copies at once, and then says DONE; or CLOSED, where its
// copy fails.
template <EndsUntouched P>
PENSTOCK_HD bool is_untouched(P& port, ReceiveState& state) {
  const Epoch epoch = state.done + 1;
  if (state.touched)
    state.touched = port.template load<Order::acquire>(Word::done) < epoch &&
                    !closing::peer_closed<Side::receiver>(port, epoch);
  return !state.touched;
}

}  // namespace penstock::protocol::rendezvous
