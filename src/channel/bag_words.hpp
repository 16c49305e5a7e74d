// SPDX-License-Identifier: Apache-2.0
// What the two ends of a bag's lane, which brings one source's messages, keep in shared memory, and
// the ports of protocol/bag.hpp over it. Each block lies in the arena of the process that polls it,
// is zero before either end uses it, and is reused when the other end has stored GONE.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

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
  std::uint64_t closed;  // by the receiver

  std::uint64_t& released(Slot slot) noexcept {
    return reinterpret_cast<std::uint64_t*>(this + 1)[slot];
  }
  static std::size_t bytes_for(const BagShape& shape) noexcept {
    return sizeof(SourceBlock) + shape.slots * sizeof(std::uint64_t);
  }
};

// At the receiver, by the source. How many elements each slot's message has follows: of the first
// slots in the line of HEAD, so that a look brings both. Behind them, from a line on, come the
// messages, where these do not go into the program's memory.
struct LaneBlock {
  alignas(peer::cache_line) std::uint64_t closed;
  alignas(peer::cache_line) std::uint64_t head;
  std::uint32_t counts[(peer::cache_line - sizeof(std::uint64_t)) / sizeof(std::uint32_t)];

  std::uint32_t& count(Slot slot) noexcept { return counts_from_head()[slot]; }
  std::byte* messages(const BagShape& shape) noexcept {
    return reinterpret_cast<std::byte*>(this) + head_bytes(shape);
  }
  static std::size_t head_bytes(const BagShape& shape) noexcept {
    const std::size_t bytes = sizeof(LaneBlock) + shape.slots * sizeof(std::uint32_t);
    return (bytes + peer::cache_line - 1) / peer::cache_line * peer::cache_line;
  }
  static std::size_t bytes_for(const BagShape& shape, bool with_messages) noexcept {
    return head_bytes(shape) + (with_messages ? shape.bytes() : 0);
  }

 private:
  std::uint32_t* counts_from_head() noexcept {
    return reinterpret_cast<std::uint32_t*>(reinterpret_cast<std::byte*>(this) +
                                            offsetof(LaneBlock, counts));
  }
};
static_assert(sizeof(LaneBlock) == 2 * peer::cache_line);

// As a source sees its lane: one message.
struct SourcePort {
  SourceBlock& own;
  LaneBlock& lane;
  std::byte* messages;
  const BagShape& shape;
  const std::atomic<bool>& dead;  // the receiver's process
  Number* known;                  // of each slot: RELEASED as it was read last
  const void* from;
  std::uint64_t count;
  Number number;

  Slot slots() const noexcept { return shape.slots; }
  // The receiver writes a line of these words for each message: a look reads all of the line, and
  // the next messages need none.
  template <protocol::Order order>
  Number load_released(Slot slot) const noexcept {
    if (known[slot] + shape.slots >= number) return known[slot];
    constexpr Slot in_line = peer::cache_line / sizeof(std::uint64_t);
    const Slot first = slot / in_line * in_line, end = std::min(first + in_line, shape.slots);
    for (Slot each = first; each < end; ++each)
      known[each] = std::atomic_ref(own.released(each)).load(order);
    return known[slot];
  }
  template <protocol::Order order>
  void store_head(Number head) const noexcept {
    std::atomic_ref(lane.head).store(head, order);
  }
  void fill(Slot slot) const noexcept {
    lane.count(slot) = static_cast<std::uint32_t>(count);
    if (count > 0)
      std::memcpy(messages + slot * shape.slot_bytes(), from, count * shape.element_bytes);
  }
  template <protocol::Order order>
  std::uint64_t load_closed() const noexcept {
    if (dead.load(std::memory_order_acquire)) return gone;
    return std::atomic_ref(own.closed).load(order);
  }
  template <protocol::Order order>
  void fence() const noexcept {
    std::atomic_thread_fence(order);
  }
};
static_assert(protocol::bag::SourcePort<SourcePort>);

}  // namespace penstock::channel
