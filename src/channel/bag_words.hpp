// SPDX-License-Identifier: Apache-2.0
// What the two ends of a bag's lane, which brings one source's messages, keep in shared memory, and
// the ports of protocol/bag.hpp over it. Each block lies in the arena of the process that polls it,
// is zero before either end uses it, and is reused when the other end has stored GONE.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "peer/control.hpp"
#include "protocol/bag.hpp"

namespace penstock::channel {

using protocol::bag::Number;
using protocol::bag::Slot;

// Of CLOSED: an end takes part no more; and it stores nothing more into the other's block.
inline constexpr std::uint64_t given_up = 1, gone = 2;

// How many slots a source has, and of how many elements.
struct BagShape {
  Slot slots = 0;
  std::uint64_t slot_elements = 0, element_bytes = 0;

  std::uint64_t slot_bytes() const noexcept { return slot_elements * element_bytes; }
  std::uint64_t bytes() const noexcept { return slots * slot_bytes(); }
};

// At the source. RELEASED of each slot follows.
struct alignas(peer::cache_line) SourceBlock {
  std::uint64_t closed;   // by the receiver
  std::uint64_t writing;  // by the source: the receiver looks at it in the end alone

  std::uint64_t& released(Slot slot) noexcept {
    return reinterpret_cast<std::uint64_t*>(this + 1)[slot];
  }
  static std::size_t bytes_for(const BagShape& shape) noexcept {
    return sizeof(SourceBlock) + shape.slots * sizeof(std::uint64_t);
  }
};

// Which slot a message lies in, and how many elements it has.
struct BagEntry {
  Slot slot = 0;
  std::uint32_t count = 0;

  static BagEntry from(std::uint64_t word) noexcept {
    return {static_cast<Slot>(word >> 32), static_cast<std::uint32_t>(word)};
  }
  std::uint64_t word() const noexcept { return std::uint64_t{slot} << 32 | count; }
};

// At the receiver, by the source. The ring of ENTRY follows HEAD, the first of them in its line, so
// that a look brings both. Behind them, from a line on, come the messages, where these do not go
// into the program's memory.
struct LaneBlock {
  alignas(peer::cache_line) std::uint64_t closed;
  alignas(peer::cache_line) std::uint64_t head;
  std::uint64_t entries[peer::cache_line / sizeof(std::uint64_t) - 1];

  std::uint64_t& entry(Number number, Slot slots) noexcept {
    return entries_from_head()[protocol::bag::place_of(number, slots)];
  }
  std::byte* messages(const BagShape& shape) noexcept {
    return reinterpret_cast<std::byte*>(this) + head_bytes(shape);
  }
  static std::size_t head_bytes(const BagShape& shape) noexcept {
    const std::size_t bytes = sizeof(LaneBlock) + shape.slots * sizeof(std::uint64_t);
    return (bytes + peer::cache_line - 1) / peer::cache_line * peer::cache_line;
  }
  static std::size_t bytes_for(const BagShape& shape, bool with_messages) noexcept {
    return head_bytes(shape) + (with_messages ? shape.bytes() : 0);
  }

 private:
  std::uint64_t* entries_from_head() noexcept {
    return reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::byte*>(this) +
                                            offsetof(LaneBlock, entries));
  }
};
static_assert(sizeof(LaneBlock) == 2 * peer::cache_line);

// What a source keeps of its slots: the last message that it has put into each, and RELEASED as it
// was read last.
class SourceSlots {
 public:
  explicit SourceSlots(Slot slots) : put_(slots, 0), released_(slots, 0) {}

  // Where that is free, the slot behind the one that was filled last: slots that come back in their
  // order are filled in turn. A look reads all words, and the next messages need none.
  template <class LoadReleased>
  Slot find_free(LoadReleased&& load) {
    const Slot known = find_known();
    if (known != size()) return known;
    for (Slot slot = 0; slot < size(); ++slot) released_[slot] = load(slot);
    return find_known();
  }
  void fill(Slot slot, Number number) noexcept {
    put_[slot] = number;
    next_ = slot + 1 == size() ? 0 : slot + 1;
  }

 private:
  Slot size() const noexcept { return static_cast<Slot>(put_.size()); }
  Slot find_known() const noexcept {
    for (Slot i = 0, slot = next_; i < size(); ++i, slot = slot + 1 == size() ? 0 : slot + 1)
      if (released_[slot] == put_[slot]) return slot;
    return size();
  }

  std::vector<Number> put_, released_;
  Slot next_ = 0;
};

// As a source sees its lane: one message.
struct SourcePort {
  SourceBlock& own;
  LaneBlock& lane;
  std::byte* messages;
  const BagShape& shape;
  const std::atomic<bool>& dead;  // the receiver's process
  SourceSlots& slots_of_own;
  const void* from;
  std::uint64_t count;
  Number message;

  Slot slots() const noexcept { return shape.slots; }
  template <protocol::Order order>
  Slot free_slot() const noexcept {
    return slots_of_own.find_free(
        [this](Slot slot) { return std::atomic_ref(own.released(slot)).load(order); });
  }
  template <protocol::Order order>
  void store_entry(Number number, Slot slot) const noexcept {
    const BagEntry entry{slot, static_cast<std::uint32_t>(count)};
    std::atomic_ref(lane.entry(number, shape.slots)).store(entry.word(), order);
  }
  template <protocol::Order order>
  void store_head(Number head) const noexcept {
    std::atomic_ref(lane.head).store(head, order);
  }
  void fill(Slot slot) const noexcept {
    slots_of_own.fill(slot, message);
    if (count > 0)
      std::memcpy(messages + slot * shape.slot_bytes(), from, count * shape.element_bytes);
  }
  template <protocol::Order order>
  std::uint64_t load_closed() const noexcept {
    if (dead.load(std::memory_order_acquire)) return gone;
    return std::atomic_ref(own.closed).load(order);
  }
  // On x86 the exchange is a fence by itself.
  void begin_writing() const noexcept {
    std::atomic_ref(own.writing).exchange(1, std::memory_order_seq_cst);
#ifndef __x86_64__
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  }
  template <protocol::Order order>
  void end_writing() const noexcept {
    std::atomic_ref(own.writing).store(0, order);
  }
};
static_assert(protocol::bag::SourcePort<SourcePort>);

}  // namespace penstock::channel
