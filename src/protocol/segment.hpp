// SPDX-License-Identifier: Apache-2.0
// The units of a channel by words: each unit is decided by itself, so that ranges of the two ends
// need not agree, and threads that work at different units need nothing of each other. Only the
// sender writes the receive buffer.
//
// A unit is the sender's at first. Its k-th message may be written when RELEASED says k - 1, and is
// there when ARRIVED says k. Both count messages, with 64 bits, and never wrap.
//
// A receiver that closes has its buffer back when nobody is writing any more: WRITING counts the
// sender's calls that may be.
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

// CLOSED is 0 or not: who has closed serves no unit any more. WRITING lies at the sender, and all
// its threads change it.
template <class P>
concept SegmentPort = requires(P port, Unit unit, UnitWord word, Epoch epoch) {
  { port.template load<Order::acquire>(word, unit) } -> std::same_as<Epoch>;
  port.template store<Order::release>(word, unit, epoch);
  // From the send buffer to the receive buffer. False: it has failed, and the message is not there.
  { port.write(unit) } -> std::same_as<bool>;
  { port.template load_closed<Order::acquire>() } -> std::same_as<std::uint64_t>;  // the other's
  port.template store_closed<Order::release>();                                    // ours
  port.begin_writing();                         // WRITING: one more, and a seq_cst fence behind it
  port.template end_writing<Order::release>();  // one less
  { port.template load_writing<Order::acquire>() } -> std::same_as<std::uint64_t>;
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

// What one call of a sender's writes, from the first unit that it may write on. A write that is
// under way cannot be called back. So either the receiver has closed before and nothing is written,
// or it finds the call counted and waits for its end: each stores its own word before it looks at
// the other's.
template <SegmentPort P>
class Writing {
 public:
  PENSTOCK_HD explicit Writing(P& port) : port_(port) {}
  PENSTOCK_HD ~Writing() {
    if (entered_) port_.template end_writing<Order::release>();  // behind what has been written
  }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;

  // Whether the receiver is still there for all that this call writes.
  PENSTOCK_HD bool enter() {
    if (entered_ || refused_) return !refused_;
    refused_ = port_.template load_closed<Order::acquire>() != 0;
    if (refused_) return false;
    entered_ = true;
    port_.begin_writing();
    refused_ = port_.template load_closed<Order::acquire>() != 0;
    return !refused_;
  }
  PENSTOCK_HD bool refused() const { return refused_; }
  PENSTOCK_HD P& port() { return port_; }

 private:
  P& port_;
  bool entered_ = false;
  bool refused_ = false;
};

// Writes what has been put, if the unit is released.
template <SegmentPort P>
PENSTOCK_HD Progress send(Writing<P>& writing, Unit unit, PutState& state) {
  if (state.put == state.sent) return Progress::ended;
  P& port = writing.port();
  if (port.template load<Order::acquire>(UnitWord::released, unit) < state.sent)
    return Progress::pending;
  if (!writing.enter() || !port.write(unit)) return Progress::pending;
  port.template store<Order::release>(UnitWord::arrived, unit, state.put);
  state.sent = state.put;
  return Progress::ended;
}

// Never waits: a message that cannot be written yet is left to put_wait.
template <SegmentPort P>
PENSTOCK_HD void put(Writing<P>& writing, Unit unit, PutState& state) {
  state.put = state.sent + 1;
  send(writing, unit, state);
}

template <SegmentPort P>
PENSTOCK_HD Progress put_wait(Writing<P>& writing, Unit unit, PutState& state) {
  return send(writing, unit, state);
}

template <SegmentPort P>
PENSTOCK_HD bool has_arrived(P& port, Unit unit, const TakeState& state) {
  return port.template load<Order::acquire>(UnitWord::arrived, unit) > state.taken;
}

// Behind has_arrived(): the unit is the receiver's.
PENSTOCK_HD inline void take(TakeState& state) {
  ++state.taken;
}

template <SegmentPort P>
PENSTOCK_HD void release(P& port, Unit unit, const TakeState& state) {
  port.template store<Order::release>(UnitWord::released, unit, state.taken);
}

// Before the program uses its buffer again, or frees it, out of order. A receiver's is its own when
// is_untouched() says so.
template <SegmentPort P>
PENSTOCK_HD void close(P& port) {
  port.template store_closed<Order::release>();
  port.template fence<Order::seq_cst>();
}

template <SegmentPort P>
PENSTOCK_HD bool is_untouched(P& port) {
  return port.template load_writing<Order::acquire>() == 0;
}

}  // namespace penstock::protocol::segment
