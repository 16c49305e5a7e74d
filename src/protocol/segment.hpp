// SPDX-License-Identifier: Apache-2.0
// The units of a channel by words: each unit is decided by itself, so that ranges of the two ends
// need not agree, and threads that work at different units need nothing of each other. Only the
// sender writes the receive buffer. No transport has this form yet: cells serve all channels
// (channel/cell.hpp).
//
// A unit is the sender's at first. Its k-th message may be written when RELEASED says k - 1, and is
// there when ARRIVED says k. Both count messages, with 64 bits, and never wrap.
#pragma once

#include <concepts>
#include <cstdint>

#include "base/host_device.hpp"
#include "protocol/epoch.hpp"
#include "protocol/port.hpp"

namespace penstock::protocol::segment {

using Unit = std::uint32_t;

// What a unit has in the memory of the end that polls it; one writer each. Why each has its order:
enum class UnitWord : std::uint8_t {
  arrived,  // at the receiver, by the sender; release/acquire: the message before its use
  released  // at the sender, by the receiver; release/acquire: the receiver's loads and stores
            // before the next message
};

// CLOSED is 0 or not: who has closed serves no unit any more.
template <class P>
concept SegmentPort = requires(P port, Unit unit, UnitWord word, Epoch epoch) {
  { port.template load<Order::acquire>(word, unit) } -> std::same_as<Epoch>;
  port.template store<Order::release>(word, unit, epoch);
  port.write(unit);  // from the send buffer to the receive buffer
  { port.template load_closed<Order::acquire>() } -> std::same_as<std::uint64_t>;  // the other's
  port.template store_closed<Order::release>();                                    // ours
  port.template fence<Order::seq_cst>();
};

// Of one unit, each of its end alone; touched in stream order.
struct PutState {
  Epoch put = 0;   // messages that puts have begun
  Epoch sent = 0;  // and that have been written
};
struct TakeState {
  Epoch taken = 0;  // messages that have been waited for
};

// Writes what has been put, if the unit is released. A write that is under way cannot be called
// back: where the receiver has closed meanwhile it may have gone into memory in new use, and is not
// counted as sent. The fence lies between that write and the look, as in closing.hpp.
template <SegmentPort P>
PENSTOCK_HD Progress send(P& port, Unit unit, PutState& state) {
  if (state.put == state.sent) return Progress::ended;
  if (port.template load<Order::acquire>(UnitWord::released, unit) < state.sent)
    return Progress::pending;
  if (port.template load_closed<Order::acquire>() != 0) return Progress::pending;
  port.write(unit);
  port.template store<Order::release>(UnitWord::arrived, unit, state.put);
  port.template fence<Order::seq_cst>();
  if (port.template load_closed<Order::acquire>() != 0) return Progress::pending;
  state.sent = state.put;
  return Progress::ended;
}

// Never waits: a message that cannot be written yet is left to put_wait.
template <SegmentPort P>
PENSTOCK_HD void put(P& port, Unit unit, PutState& state) {
  state.put = state.sent + 1;
  send(port, unit, state);
}

template <SegmentPort P>
PENSTOCK_HD Progress put_wait(P& port, Unit unit, PutState& state) {
  return send(port, unit, state);
}

template <SegmentPort P>
PENSTOCK_HD bool has_arrived(P& port, Unit unit, const TakeState& state) {
  return port.template load<Order::acquire>(UnitWord::arrived, unit) > state.taken;
}

// Behind has_arrived() of all units of the range.
PENSTOCK_HD inline void take(TakeState& state) {
  ++state.taken;
}

template <SegmentPort P>
PENSTOCK_HD void release(P& port, Unit unit, const TakeState& state) {
  port.template store<Order::release>(UnitWord::released, unit, state.taken);
}

// Before the program uses its buffer again, or frees it, out of order.
template <SegmentPort P>
PENSTOCK_HD void close(P& port) {
  port.template store_closed<Order::release>();
  port.template fence<Order::seq_cst>();
}

}  // namespace penstock::protocol::segment
