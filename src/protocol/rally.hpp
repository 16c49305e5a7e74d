// SPDX-License-Identifier: Apache-2.0
// The direct exchange of members that store into each other's memory: in every epoch each of them
// has something for each other one. A member has two slots for each other one, of lines that carry
// a flag beside their data, and uses them in turn.
//   start(e)  to each other member: my lines, into its slot of e for me
//   wait(e)   from each member: until its lines in my slot of e show e; then they are taken
//
// Nobody says that a slot is free. My start(e) follows my wait(e - 1), which has seen B's lines of
// e - 1. B stored those after its wait(e - 2), which had read the slot that I store into. So B is
// at most one epoch behind or ahead. That takes lines from every member in every epoch: who has
// nothing for another one sends it a line all the same.
//
// A second flight is for results: a member combines what has come, and its wait sends the result to
// all. It has slots of its own.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "base/host_device.hpp"
#include "protocol/epoch.hpp"

namespace penstock::protocol::rally {

inline constexpr unsigned slots = 2;

PENSTOCK_HD constexpr unsigned slot_of(Epoch epoch) {
  return static_cast<unsigned>(epoch % slots);
}

// A member's own, as in state.hpp. Several processors of one member have a state each, for lines of
// their own; none starts an epoch before all have ended the wait of the one before.
struct State {
  Epoch done = 0;
  std::uint32_t line = 0;  // lines taken in this wait
  std::uint32_t sent = 0;  // lines sent, in an exchange
  bool combined = false;   // this wait has taken the first flight, and sent the results
};

// What one member, or one processor of it, needs of the memory between all, for one flight. Lines
// are numbered from 0 for each receiver. Their numbers are fixed at match, and at least one for
// each member (but for processors that have no part in it).
template <class P>
concept Port = requires(P port, unsigned member, unsigned slot, std::uint32_t line,
                        std::uint64_t value) {
  { port.members() } -> std::convertible_to<unsigned>;
  { port.me() } -> std::convertible_to<unsigned>;
  { port.lines_to(member) } -> std::convertible_to<std::uint32_t>;
  { port.lines_from(member) } -> std::convertible_to<std::uint32_t>;  // from me as well
  { port.most_lines() } -> std::convertible_to<std::uint32_t>;        // of all these
  { port.flag_bits() } -> std::convertible_to<unsigned>;              // two or more
  // Into the slot at the member. store_flag: release.
  port.fill(member, slot, line);
  port.store_flag(member, slot, line, value);
  // From the member's slot here. load_flag: acquire. take is called for me, too: from my buffer.
  { port.load_flag(member, slot, line) } -> std::same_as<std::uint64_t>;
  port.take(member, slot, line);
  // CLOSED. Kernels have none: they move data into and out of library memory alone, and their host
  // ends a wait that is hopeless.
  { P::may_close } -> std::convertible_to<bool>;
  { port.load_closed(member) } -> std::same_as<std::uint64_t>;  // of the member; acquire
  port.store_closed(member, value);                             // mine, at the member; release
};

// Begins at the member behind me, so that not all store into one memory at once.
template <Port P>
PENSTOCK_HD void send_line(P& port, Epoch epoch, std::uint32_t line) {
  const unsigned slot = slot_of(epoch);
  const std::uint64_t flag = line_flag(epoch, port.flag_bits());
  const unsigned me = port.me();
  const unsigned members = port.members();
  for (unsigned hop = 1; hop < members; ++hop) {
    const unsigned to = me + hop < members ? me + hop : me + hop - members;
    if (line >= port.lines_to(to)) continue;
    port.fill(to, slot, line);
    // Release: the line's data come first; and my loads of the epoch before, into whose slot the
    // member stores when it has seen this.
    port.store_flag(to, slot, line, flag);
  }
}

template <Port P>
PENSTOCK_HD void send_lines(P& port, Epoch epoch) {
  for (std::uint32_t line = 0; line < port.most_lines(); ++line) send_line(port, epoch, line);
}

// Whether the line that this wait stands at has yet to come from the member. P is a Port, or a
// const one.
template <class P>
PENSTOCK_HD bool misses(P& port, const State& state, unsigned member) {
  if (member == port.me() || state.line >= port.lines_from(member)) return false;
  const Epoch epoch = state.done + 1;
  return port.load_flag(member, slot_of(epoch), state.line) != line_flag(epoch, port.flag_bits());
}

// The line that this wait stands at, if there is one, from all members at once, in the order of
// their ranks: results do not depend on who comes first.
template <Port P>
PENSTOCK_HD Progress take_line(P& port, State& state) {
  if (state.line >= port.most_lines()) return Progress::ended;
  // All are looked at, whoever is missed: so a kernel's loads are under way together.
  bool missed = false;
  for (unsigned member = 0; member < port.members(); ++member)
    missed |= misses(port, state, member);
  if (missed) return Progress::pending;
  const unsigned slot = slot_of(state.done + 1);
  for (unsigned member = 0; member < port.members(); ++member)
    if (state.line < port.lines_from(member)) port.take(member, slot, state.line);
  ++state.line;
  return Progress::ended;
}

template <Port P>
PENSTOCK_HD Progress take_lines(P& port, State& state) {
  while (state.line < port.most_lines())
    if (take_line(port, state) == Progress::pending) return Progress::pending;
  state.line = 0;
  return Progress::ended;
}

// Whether a member takes no part in the epoch. Acquire: what it has sent before is seen by a look
// that follows. P as above.
template <class P>
PENSTOCK_HD bool member_closed(P& port, Epoch epoch) {
  bool closed = false;
  if constexpr (std::remove_const_t<P>::may_close)
    for (unsigned member = 0; member < port.members(); ++member)
      if (member != port.me()) closed |= closed_before(port.load_closed(member), epoch);
  return closed;
}

template <Port P>
PENSTOCK_HD StartOutcome start(P& port, const State& state) {
  const Epoch epoch = state.done + 1;
  if (member_closed(port, epoch)) return StartOutcome::peer_closed;
  send_lines(port, epoch);
  return StartOutcome::started;
}

template <Port P>
PENSTOCK_HD Progress wait(P& port, State& state) {
  if (take_lines(port, state) == Progress::pending) return Progress::pending;
  ++state.done;
  return Progress::ended;
}

// Start and wait at once, of a processor that keeps its place until the end: lines are on their way
// while earlier ones are taken, which they are `ahead` of. Nobody waits in a circle: a line that is
// waited for has been sent, or waits for lines of lower numbers.
template <Port P>
PENSTOCK_HD Progress exchange(P& port, State& state, std::uint32_t ahead) {
  const std::uint32_t lines = port.most_lines();
  for (;;) {
    for (; state.sent < lines && state.sent <= state.line + ahead; ++state.sent)
      send_line(port, state.done + 1, state.sent);
    if (take_line(port, state) == Progress::pending) return Progress::pending;
    if (state.line < lines) continue;
    state = {state.done + 1};
    return Progress::ended;
  }
}

// The wait of two flights. The start of both is that of the first.
template <Port First, Port Results>
PENSTOCK_HD Progress wait(First& first, Results& results, State& state) {
  if (!state.combined) {
    if (take_lines(first, state) == Progress::pending) return Progress::pending;
    send_lines(results, state.done + 1);
    state.combined = true;
  }
  if (wait(results, state) == Progress::pending) return Progress::pending;
  state.combined = false;
  return Progress::ended;
}

// A member that is freed, gives up, or has met a failure, takes part in nothing more. These are its
// last stores into the others' memory. As every epoch needs every member, nobody ends a later one.
template <Port P>
PENSTOCK_HD void close(P& port, const State& state) {
  for (unsigned member = 0; member < port.members(); ++member)
    // Release: my last lines come before.
    if (member != port.me()) port.store_closed(member, state.done + 1);
}

// Whether a member that has closed may use the memory of its slots for something else: nobody
// stores there any more.
template <Port P>
PENSTOCK_HD bool all_closed(P& port) {
  bool all = true;
  for (unsigned member = 0; member < port.members(); ++member)
    if (member != port.me()) all &= port.load_closed(member) != 0;
  return all;
}

}  // namespace penstock::protocol::rally
