// SPDX-License-Identifier: Apache-2.0
// Messages of several sources into one bag, out of which any of the receiver's threads takes the
// first that is there. Each source has slots of its own, and words of its own, so that every word
// has one writer: no source knows of another. A source's messages are numbered from 1, and go into
// any slot that is free. Which one that is stands in a ring of entries, as many as there are slots.
//
// Threads of the receiver claim messages, of each source in their order, by a word in the
// receiver's own memory. They give slots back in any order. Neither put nor grab waits; both are
// tried again.
#pragma once

#include <concepts>
#include <cstdint>

#include "base/host_device.hpp"
#include "protocol/epoch.hpp"
#include "protocol/port.hpp"

namespace penstock::protocol::bag {

using Number = std::uint64_t;
using Slot = std::uint32_t;
using Source = std::uint32_t;

// Where a message's entry stands.
PENSTOCK_HD constexpr Slot place_of(Number number, Slot slots) {
  return static_cast<Slot>((number - 1) % slots);
}

// CLOSED is 0 or not: who has closed serves no message any more. Why each word has its order:
//   HEAD      at the receiver, by the source: the last message that lies in a slot;
//             release/acquire: the message, and its entry, before their use
//   ENTRY     at the receiver, by the source, a ring of them: which slot a message lies in. It
//             stays until the message has been claimed, as no slot is free before for the one that
//             would take its place; who reads it later claims in vain
//   RELEASED  at the source, of each slot, by the receiver: the last message that has left it;
//             release/acquire: the receiver's loads and stores before the next message
//   WRITING   at the source, by itself: whether a put may be writing; release/acquire: what it has
//             written before the receiver's program uses its slots again
template <class P>
concept SourcePort = requires(P port, Slot slot, Number number) {
  // A slot whose RELEASED is the last message that was put into it; or slots(): there is none.
  { port.template free_slot<Order::acquire>() } -> std::same_as<Slot>;
  port.fill(slot);  // from the program's memory
  port.template store_entry<Order::relaxed>(number, slot);
  port.template store_head<Order::release>(number);
  { port.slots() } -> std::convertible_to<Slot>;
  { port.template load_closed<Order::acquire>() } -> std::same_as<std::uint64_t>;
  port.begin_writing();                         // WRITING, and a seq_cst fence behind it
  port.template end_writing<Order::release>();  // and nobody writes
};

//   CLAIMED   of each source, the receiver's own: the last message that a thread has claimed. All
//             threads look at HEAD by themselves, so it orders nothing
//   NEXT      the receiver's own: where a look begins; a hint, that any thread may store
template <class P>
concept ReceiverPort = requires(P port, Source source, Slot slot, Number number) {
  { port.sources() } -> std::convertible_to<Source>;
  { port.template load_head<Order::acquire>(source) } -> std::same_as<Number>;
  { port.template load_entry<Order::relaxed>(source, number) } -> std::same_as<typename P::Entry>;
  { port.template load_claimed<Order::relaxed>(source) } -> std::same_as<Number>;
  // Compares and exchanges: from `number` to the next one. False: `number` is what was found there.
  { port.claim(source, number) } -> std::same_as<bool>;
  { port.template load_next<Order::relaxed>() } -> std::same_as<Source>;
  port.template store_next<Order::relaxed>(source);
  port.template store_released<Order::release>(source, slot, number);
  port.template store_closed<Order::release>(source);  // at the source
  { port.template load_writing<Order::acquire>(source) } -> std::same_as<std::uint64_t>;
  port.template fence<Order::seq_cst>();
};

// Pending: no slot has been given back, or the receiver serves nothing more. A write that is under
// way cannot be called back. So either the receiver has closed before and nothing is written, or it
// finds WRITING and waits for the end: each stores its own word before it looks at the other's. The
// first look spares a receiver that has closed from finding WRITING again and again.
template <SourcePort P>
PENSTOCK_HD Progress put(P& port, Number number) {
  const Slot slot = port.template free_slot<Order::acquire>();
  if (slot == port.slots()) return Progress::pending;
  if (port.template load_closed<Order::acquire>() != 0) return Progress::pending;
  port.begin_writing();
  const bool serves = port.template load_closed<Order::acquire>() == 0;
  if (serves) {
    port.fill(slot);
    port.template store_entry<Order::relaxed>(number, slot);
    port.template store_head<Order::release>(number);
  }
  port.template end_writing<Order::release>();
  return serves ? Progress::ended : Progress::pending;
}

template <class Entry>
struct Taken {
  Source source = 0;
  Number number = 0;
  Entry entry{};
};

// The first message of the source that nobody has claimed, if it is there. Its entry is read before
// the claim: behind it the place may be another message's.
template <ReceiverPort P>
PENSTOCK_HD bool claim_first(P& port, Source source, Taken<typename P::Entry>& taken) {
  Number claimed = port.template load_claimed<Order::relaxed>(source);
  while (port.template load_head<Order::acquire>(source) > claimed) {
    const auto entry = port.template load_entry<Order::relaxed>(source, claimed + 1);
    if (!port.claim(source, claimed)) continue;
    taken = {source, claimed + 1, entry};
    return true;
  }
  return false;
}

// Looks first at the source behind the one that was taken from last, so that no source waits while
// others have their second turn. False: there is nothing.
template <ReceiverPort P>
PENSTOCK_HD bool grab(P& port, Taken<typename P::Entry>& taken) {
  const Source sources = port.sources(), begin = port.template load_next<Order::relaxed>();
  for (Source i = 0; i < sources; ++i) {
    const Source source = (begin + i) % sources;
    if (!claim_first(port, source, taken)) continue;
    port.template store_next<Order::relaxed>((source + 1) % sources);
    return true;
  }
  return false;
}

// Behind all use of the message.
template <ReceiverPort P>
PENSTOCK_HD void release(P& port, Source source, Slot slot, Number number) {
  port.template store_released<Order::release>(source, slot, number);
}

// Behind all grabs and releases. The slots are the program's own again when is_untouched() says so.
template <ReceiverPort P>
PENSTOCK_HD void close(P& port) {
  for (Source source = 0; source < port.sources(); ++source)
    port.template store_closed<Order::release>(source);
  port.template fence<Order::seq_cst>();
}

// All sources are asked each time, as the port may count for each how long it has been writing.
template <ReceiverPort P>
PENSTOCK_HD bool is_untouched(P& port) {
  bool untouched = true;
  for (Source source = 0; source < port.sources(); ++source)
    if (port.template load_writing<Order::acquire>(source) != 0) untouched = false;
  return untouched;
}

}  // namespace penstock::protocol::bag
