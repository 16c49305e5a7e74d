// SPDX-License-Identifier: Apache-2.0
// A lane in memory of the receiver's GPU (protocol/flagged_lane.hpp), and what kernels are told of
// it with a message.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/flag_bits.hpp"
#include "gpu/words.hpp"
#include "peer/lane.hpp"
#include "protocol/flagged_lane.hpp"

namespace penstock::enqueued {

using gpu::Cell, gpu::Word64;
using protocol::lane::Number;

// The head of a slot is a line of cells: the first one carries how many bytes the message has, and
// the lower half of its number; the others the message, if it fits. What does not fit lies in the
// cells that follow.
inline constexpr unsigned head_cells = gpu::device_line / sizeof(Cell);
inline constexpr std::uint64_t small_bytes = (head_cells - 1) * gpu::cell_payload;
inline constexpr unsigned lane_flag_bits = PENSTOCK_FLAG_BITS;

PENSTOCK_HD constexpr unsigned cells_for(std::uint64_t bytes) {
  return static_cast<unsigned>((bytes + gpu::cell_payload - 1) / gpu::cell_payload);
}

// A cell carries eight bytes, and its flag twice.
PENSTOCK_HD inline Word64 value_of(const Cell& cell) {
  return (cell.low & 0xffffffff) | cell.high << 32;
}
PENSTOCK_HD inline Cell cell_of(Word64 value, Word64 flag) {
  return {(value & 0xffffffff) | flag << 32, value >> 32 | flag << 32};
}
PENSTOCK_HD inline bool shows(const Cell& cell, Word64 flag) {
  return cell.low >> 32 == flag && cell.high >> 32 == flag;
}

// What the first cell carries. Of two messages that a receiver waits for at once, these differ.
PENSTOCK_HD constexpr Word64 first_value(std::uint64_t bytes, Number number) {
  return bytes | number << 32;
}
PENSTOCK_HD inline std::uint64_t bytes_of(const Cell& first) {
  return value_of(first) & 0xffffffff;
}
PENSTOCK_HD inline bool is_of(const Cell& first, Number number) {
  return value_of(first) >> 32 == (number & 0xffffffff);
}

// Where a message lies in a lane: `taken` is TAKEN of its slot.
struct LanePlace {
  Cell* head = nullptr;  // null: there is no lane
  Word64* taken = nullptr;

  PENSTOCK_HD Cell* behind_head() const { return head + head_cells; }
};

// Zero before either end uses it: TAKEN of each slot, and the slots.
class DeviceLane {
 public:
  DeviceLane() = default;
  DeviceLane(std::byte* memory, const peer::LaneShape& shape) noexcept
      : memory_(memory), shape_(shape) {}
  static std::size_t bytes_for(const peer::LaneShape& shape) noexcept {
    return words_bytes(shape) + shape.slots * stride(shape);
  }
  unsigned slots() const noexcept { return shape_.slots; }
  std::uint64_t slot_bytes() const noexcept { return shape_.slot_bytes; }
  unsigned cells_behind_head() const noexcept {
    return shape_.slot_bytes <= small_bytes ? 0 : cells_for(shape_.slot_bytes);
  }
  LanePlace place_of(Number number) const noexcept {
    const auto slot = static_cast<unsigned>(number % shape_.slots);
    return {reinterpret_cast<Cell*>(memory_ + words_bytes(shape_) + slot * stride(shape_)),
            reinterpret_cast<Word64*>(memory_) + slot};
  }

 private:
  static std::size_t in_lines(std::size_t bytes) noexcept {
    return (bytes + gpu::device_line - 1) / gpu::device_line * gpu::device_line;
  }
  static std::size_t words_bytes(const peer::LaneShape& shape) noexcept {
    return in_lines(shape.slots * sizeof(Word64));
  }
  static std::size_t stride(const peer::LaneShape& shape) noexcept {
    const DeviceLane lane(nullptr, shape);
    return gpu::device_line + in_lines(lane.cells_behind_head() * sizeof(Cell));
  }

  std::byte* memory_ = nullptr;
  peer::LaneShape shape_;
};

// How a message goes.
enum class Way : std::uint32_t { by_engine, refreshing, by_lane };  // of the first two the engine's
inline constexpr Word64 ways = 4;

// A sender's words of a slot, in its own device's memory; zero at first.
struct SenderWords {
  Word64 sent;       // SENT
  Word64 known;      // TAKEN, as it was read last
  Word64 refreshed;  // REFRESHED
  Word64 choice;     // ways x the message that a kernel has tried last, and its way
};

// A message of one envelope, which may go by a lane.
struct LaneUse {
  static constexpr int most_lanes = 2;

  Number number = 0;  // 0: it does not
  // `mark`, in the host's memory, becomes `serial` when the message is the engine's: a trigger's
  // kernel stores it when it finds no slot, the engine when it has received the message into pinned
  // memory.
  Word64 serial = 0;
  Word64* mark = nullptr;
  Word64* report = nullptr;       // a receive: where it says how many bytes came; null: nowhere
  LanePlace place[most_lanes];    // of a send the first one alone
  SenderWords* sender = nullptr;  // a send: of its lane; null: it is a receive
  std::uint32_t cells = 0;        // a send: of a slot, behind its head
  std::uint32_t slots[most_lanes] = {};

  PENSTOCK_HD bool stands() const { return number != 0; }
  PENSTOCK_HD bool sends() const { return stands() && sender != nullptr; }
  PENSTOCK_HD bool receives() const { return stands() && sender == nullptr; }
  PENSTOCK_HD unsigned slot() const { return static_cast<unsigned>(number % slots[0]); }
};

}  // namespace penstock::enqueued
