// SPDX-License-Identifier: Apache-2.0
// One-sided epochs between an origin, which moves data, and a target, in whose memory it moves
// them. The origin stands where a sender does, the target where a receiver does.
//   post      target: from here on the origin may use the target's memory
//   complete  origin: moves what the program has listed for this epoch, and says so
//   wait      target: ends when all that has come
// An access may be opened before its complete, for stores of the program's own:
//   open      origin: ends when the target has posted the epoch that the next complete closes
//
// The list goes one of two ways, as the origin decides for each epoch:
//   eager   in lines of a slot at the target, from which the target's wait takes it. The origin
//           needs no post for that, only a free slot.
//   direct  from memory to memory in parts, each of which has a word at the target. The origin
//           begins when the target has posted.
// The first line of a slot, HEAD, is written in every epoch and says what to wait for. Words are
// used as those of messages: CTS is stored by post, FIN by the wait that has emptied the slot.
//
// Once post(e) has run, complete(e) ends without another act of the target: wait(e - 1) has ended
// before post(e), so that FIN has reached e - 1, or e - 2 where it is deferred.
//
// A program may promise that post runs before complete. Then the origin does not look for CTS, and
// the target may store it as late as at its wait: all words hold epochs, and none counts calls.
#pragma once

#include "protocol/closing.hpp"
#include "protocol/deferred_fin.hpp"
#include "protocol/port.hpp"
#include "protocol/state.hpp"

namespace penstock::protocol::window {

// What HEAD says: how many lines come behind it, or how many parts move from memory to memory.
struct Head {
  std::uint32_t lines = 0;
  std::uint32_t parts = 0;
};

// What the program has promised of an epoch's post.
enum class Promise : std::uint8_t {
  none,
  taken,   // that it runs before the complete
  checked  // the same, and a look at CTS shows whether it is kept
};

// `copied` says that this end has begun to move parts.
struct OriginState : SendState {
  bool announced = false;  // HEAD of this epoch has been stored, and the lines behind it
  std::uint32_t part = 0;  // parts moved
};

// `line` counts the lines taken, HEAD among them.
struct TargetState : ReceiveState {
  std::uint32_t part = 0;  // parts seen
  Head head;               // known when HEAD has been taken
};

// What a window asks of its port beside words and lines. Line 0 of a slot is HEAD; lines() counts
// it and all that a slot holds.
template <class P>
concept MovesOperations = Port<P> &&
    requires(P port, unsigned slot, std::uint32_t number, Epoch epoch) {
  { port.head() } -> std::same_as<Head>;           // origin: of the present epoch
  { port.promise() } -> std::same_as<Promise>;     // as well
  { port.read_head(slot) } -> std::same_as<Head>;  // target: behind the flag of line 0
  port.move(number);                               // origin: the operations of this part
  port.template store_part<Order::release>(number, epoch);
  { port.template load_part<Order::acquire>(number) } -> std::same_as<Epoch>;
};

// Lines that an epoch does not need keep their old flags, which come again after 2^bits epochs. So
// at the beginning of each half of that period every slot is written whole.
PENSTOCK_HD constexpr bool writes_whole_slot(Epoch epoch, unsigned slots, unsigned flag_bits) {
  return flag_bits < 64 && epoch % (std::uint64_t{1} << (flag_bits - 1)) < slots;
}

template <MovesOperations P>
PENSTOCK_HD void post(P& port, const TargetState& state) {
  // Release: the target's earlier use of its memory comes before the origin's.
  port.template store<Order::release>(Word::cts, state.done + 1);
}

// A line without operations carries its flag alone.
template <MovesOperations P>
PENSTOCK_HD void announce(P& port, Epoch epoch) {
  const unsigned slots = port.slots();
  const unsigned slot = static_cast<unsigned>(epoch % slots);
  const std::uint64_t flag = line_flag(epoch, port.flag_bits());
  const std::uint32_t filled = 1 + port.head().lines;
  const std::uint32_t written =
      writes_whole_slot(epoch, slots, port.flag_bits()) ? port.lines() : filled;
  for (std::uint32_t line = 0; line < written; ++line) {
    if (line < filled) port.fill(slot, line);
    port.store_flag(slot, line, flag);
  }
}

template <MovesOperations P>
PENSTOCK_HD bool move_parts(P& port, OriginState& state, std::uint32_t parts, Epoch epoch) {
  state.copied = true;
  for (; state.part < parts; ++state.part) {
    port.move(state.part);
    if (port.copy_failed()) return false;
    // Release: the part comes before its use. It keeps a get's loads in front of the target's next
    // stores, too.
    port.template store_part<Order::release>(state.part, epoch);
  }
  return closing::copy_holds<Side::sender>(port, epoch);
}

// Whether the target has posted the epoch, as far as the origin looks for it.
template <MovesOperations P>
PENSTOCK_HD bool posted(P& port, Epoch epoch) {
  // Acquire: the target's earlier use of its memory comes before what the origin does there.
  return port.promise() == Promise::taken || port.template load<Order::acquire>(Word::cts) >= epoch;
}

// Before complete, and once: whether the target serves this epoch, and a promise is kept.
template <MovesOperations P>
PENSTOCK_HD StartOutcome begin_complete(P& port, const OriginState& state) {
  const Epoch epoch = state.done + 1;
  if (closing::peer_closed<Side::sender>(port, epoch)) return StartOutcome::peer_closed;
  const bool broken = port.promise() == Promise::checked && !posted(port, epoch);
  return broken ? StartOutcome::receiver_not_started : StartOutcome::started;
}

// What the program stores into the target's memory behind this comes before the flag of HEAD, or
// before PART, which complete stores: so the target finds it when its wait has ended.
template <MovesOperations P>
PENSTOCK_HD Progress open(P& port, const OriginState& state) {
  const Epoch epoch = state.done + 1;
  if (closing::peer_closed<Side::sender>(port, epoch)) return Progress::pending;
  return posted(port, epoch) ? Progress::ended : Progress::pending;
}

template <MovesOperations P>
PENSTOCK_HD Progress complete(P& port, OriginState& state) {
  const Epoch epoch = state.done + 1;
  if (closing::peer_closed<Side::sender>(port, epoch)) return Progress::pending;
  if (!state.announced) {
    // Acquire: the target's loads from the slot come before the stores below.
    if (port.template load<Order::acquire>(Word::fin) + port.slots() < epoch)
      return Progress::pending;
    announce(port, epoch);
    state.announced = true;
  }
  if (const std::uint32_t parts = port.head().parts; parts != 0) {
    if (!posted(port, epoch)) return Progress::pending;
    if (!move_parts(port, state, parts, epoch)) return Progress::pending;
  }
  state = OriginState();
  state.done = epoch;
  return Progress::ended;
}

template <MovesOperations P>
PENSTOCK_HD Progress wait(P& port, TargetState& state) {
  const Epoch epoch = state.done + 1;
  tell_deferred_fin(port, state);
  const unsigned slot = static_cast<unsigned>(epoch % port.slots());
  const std::uint64_t flag = line_flag(epoch, port.flag_bits());
  for (; state.line <= state.head.lines; ++state.line) {
    if (port.load_flag(slot, state.line) != flag) return Progress::pending;
    if (state.line == 0)
      state.head = port.read_head(slot);
    else
      port.drain(slot, state.line);
  }
  for (; state.part < state.head.parts; ++state.part)
    if (port.template load_part<Order::acquire>(state.part) < epoch) return Progress::pending;
  if constexpr (!Deferred<P>) port.template store<Order::release>(Word::fin, epoch);
  state = TargetState();
  state.done = epoch;
  return Progress::ended;
}

}  // namespace penstock::protocol::window
