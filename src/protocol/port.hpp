// SPDX-License-Identifier: Apache-2.0
// What the state machines need of the memory between two processes. A port is one end's view of one
// matched pair: the host form uses std::atomic_ref on shared memory, a device form the GPU's
// system-scope atomics, and the explorer in tests/protocol a model of the C++ memory model. The
// machines themselves are the same code in all three.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>

#include "protocol/epoch.hpp"

namespace penstock::protocol {

// A is the sender, B the receiver. Every word lies in the memory of the process that polls it, has
// one writer (CLAIM: two, by exchange only), only ever grows and is zero before either side may use
// it. Why each has its order:
enum class Word : std::uint8_t {
  cts,   // at A, by B's start; release/acquire: B's earlier use of its receive buffer before A's
         // push into it
  fin,   // at A, by B's wait; release/acquire: B's *loads* from slot or send buffer before A's next
         // stores there
  pull,  // at A, by B: 2e+1 B wants to pull e, 2e+2 B gave way; against push by sequential
         // consistency
  push,  // at A, by A: A wants to push e. Beside pull, so that a link without native atomics
         // answers B in order
  claim,  // at A, by exchange of both: e has been claimed; acq_rel also keeps the copy behind it
  rts,    // at B, by A's start; release/acquire: the data in the send buffer before B's pull
  done,   // at B, by A; release/acquire: the payload before B's use of it
  // closing.hpp; the first epoch that is served no more. Release/acquire: the last message before
  // the word.
  sender_closed,   // at B, by A
  receiver_closed  // at A, by B
};

using Order = std::memory_order;  // but for consume

template <class P>
concept Port = requires(P port, std::uint64_t value, unsigned slot, std::uint32_t line) {
  // Words. The order is a template argument, so that a device form can select its instruction.
  { port.template load<Order::acquire>(Word::cts) } -> std::same_as<std::uint64_t>;
  port.template store<Order::release>(Word::cts, value);
  { port.exchange(Word::claim, value) } -> std::same_as<std::uint64_t>;
  // All memory that the two processes share, user buffers included.
  port.template fence<Order::seq_cst>();
  // Lines of the ring. fill copies line number `line` of the send buffer into the slot, drain from
  // the slot into the receive buffer.
  port.fill(slot, line);
  port.drain(slot, line);
  { port.load_flag(slot, line) } -> std::same_as<std::uint64_t>;  // acquire
  port.store_flag(slot, line, value);                             // release
  // Whole messages: send buffer to receive buffer, by the sender and by the receiver.
  port.push();
  port.pull();
  // One of this end, whole or in parts: never reported as done.
  { port.copy_failed() } -> std::convertible_to<bool>;
  // Fixed at match.
  { port.slots() } -> std::convertible_to<unsigned>;
  { port.lines() } -> std::convertible_to<std::uint32_t>;
  { port.flag_bits() } -> std::convertible_to<unsigned>;
  { port.checks_ready() } -> std::convertible_to<bool>;
  { P::native_atomics } -> std::convertible_to<bool>;  // exchange works between the two processes
  // False where neither side can be released or freed before both have ended: the explorer's pairs
  // without CLOSED.
  { P::may_close } -> std::convertible_to<bool>;
};

// A port may let the other side, if it is in its wait, take part in a copy, so that two processors
// move one message.
//   push_with_help  sender: copies what the other side does not; true: the other side took a part
//   pull_with_help  receiver: the same; neither of the two ever waits for the other side
//   help_push       receiver: copies parts while there are any; true: there was one
//   help_pull       sender: the same; both do nothing unless that epoch is being copied
template <class P>
concept SharesCopies = requires(P port, Epoch epoch) {
  { port.push_with_help(epoch) } -> std::same_as<bool>;
  { port.pull_with_help(epoch) } -> std::same_as<bool>;
  { port.help_push(epoch) } -> std::same_as<bool>;
  { port.help_pull(epoch) } -> std::same_as<bool>;
};

// A port whose receive can wait, where it is given up, until no copy by the sender is under way any
// more. Then each push is claimed, also that of a start.
//   refuse_help  receiver, of an epoch that it has claimed itself: no part is taken any more; true:
//                the sender has taken one
template <class P>
concept EndsUntouched = requires(P port, Epoch epoch) {
  requires P::ends_untouched && P::native_atomics;
  { port.refuse_help(epoch) } -> std::same_as<bool>;
};

// A port whose calls are launches on a device, where one that only looks costs as much as a
// message, and one that ends with a store to the peer holds up the stream until the peer's memory
// has answered. A ring then leaves such ends to the next call (ring.hpp), and needs one slot more.
template <class P>
concept Deferred = requires {
  requires P::deferred;
};

}  // namespace penstock::protocol
