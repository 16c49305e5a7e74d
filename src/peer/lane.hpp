// SPDX-License-Identifier: Apache-2.0
// The slots of a lane (protocol/lane.hpp) in shared memory, as each of its ends sees them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "peer/control.hpp"
#include "protocol/lane.hpp"

namespace penstock::peer {

// What a lane's slots are like.
struct LaneShape {
  std::uint64_t slot_bytes = 0;  // largest message that lies in a slot
  std::uint32_t slots = 0;
};

// The head of a slot; the bytes of a message that does not fit into it follow. A small message is
// one cache line with its number.
struct alignas(cache_line) LaneSlot {
  static constexpr std::size_t small_bytes = 40;

  std::uint64_t head;  // by the sender, as all of this line
  std::uint64_t bytes;
  std::int64_t mpi_tag;  // under which MPI brings the message, or one of those below
  std::byte small[small_bytes];
  alignas(cache_line) std::uint64_t taken;  // by the receiver

  static constexpr std::int64_t in_slot = -1;  // the slot holds the message
  static constexpr std::int64_t lost = -2;     // it will not come
  std::byte* data() noexcept {
    return bytes <= small_bytes ? small : reinterpret_cast<std::byte*>(this + 1);
  }
};
static_assert(sizeof(LaneSlot) == 2 * cache_line);

class Lane {
 public:
  Lane() = default;
  // `memory`: bytes_for(shape), of the receiver's; zero before either end uses it.
  Lane(std::byte* memory, const LaneShape& shape) noexcept
      : memory_(memory), shape_(shape), stride_(sizeof(LaneSlot) + rounded(shape.slot_bytes)) {}
  static std::size_t bytes_for(const LaneShape& shape) noexcept {
    return shape.slots * (sizeof(LaneSlot) + rounded(shape.slot_bytes));
  }

  bool stands() const noexcept { return memory_ != nullptr; }
  std::size_t slot_bytes() const noexcept { return shape_.slot_bytes; }

  // fill(slot) writes what `slot` is to hold, but for its words.
  template <class Fill>
  bool send(protocol::lane::Number number, Fill fill) const noexcept {
    Port<Fill> port{*this, fill};
    return protocol::lane::send(port, number);
  }
  // drain(slot) reads it.
  template <class Drain>
  bool receive(protocol::lane::Number number, Drain drain) const noexcept {
    Port<Drain> port{*this, drain};
    return protocol::lane::receive(port, number);
  }

 private:
  template <class Move>
  struct Port {
    const Lane& lane;
    Move& move;

    template <protocol::lane::Order order>
    std::uint64_t load(protocol::lane::Word word, unsigned slot) const noexcept {
      return std::atomic_ref(at(word, slot)).load(order);
    }
    template <protocol::lane::Order order>
    void store(protocol::lane::Word word, unsigned slot, std::uint64_t number) const noexcept {
      std::atomic_ref(at(word, slot)).store(number, order);
    }
    void fill(unsigned slot) const noexcept { move(lane.slot(slot)); }
    void drain(unsigned slot) const noexcept { move(lane.slot(slot)); }
    unsigned slots() const noexcept { return lane.shape_.slots; }

   private:
    std::uint64_t& at(protocol::lane::Word word, unsigned slot) const noexcept {
      LaneSlot& place = lane.slot(slot);
      return word == protocol::lane::Word::head ? place.head : place.taken;
    }
  };

  static constexpr std::size_t rounded(std::size_t bytes) noexcept {
    if (bytes <= LaneSlot::small_bytes) return 0;
    return (bytes + cache_line - 1) / cache_line * cache_line;
  }
  LaneSlot& slot(unsigned number) const noexcept {
    return *reinterpret_cast<LaneSlot*>(memory_ + number * stride_);
  }

  std::byte* memory_ = nullptr;
  LaneShape shape_;
  std::size_t stride_ = 0;
};

}  // namespace penstock::peer
