// SPDX-License-Identifier: Apache-2.0
// Members that copy what they have for each other right into the receivers' buffers.
//   start(e)  to each source: CTS, my buffer may be written; and what is mine
//   wait(e)   to each destination that has said so: my block, then DONE; and until all sources of
//             mine have said DONE
// The sender alone copies, so nothing is claimed, and nothing lies in between. My start(e) follows
// my wait(e - 1), behind which the program has read its buffer: so CTS is all that a sender has to
// know. Members between whom nothing goes are not waited for, and may be any number of epochs
// apart; words count epochs, and never come round.
//
// A batch is of so many members as are served at once. In batches of one each destination has its
// block as soon as it may. In one batch of all others, to and from which words go then, nobody
// copies before all have started, and nobody says DONE before all of its blocks are there: two
// barriers.
#pragma once

#include <concepts>
#include <cstdint>

#include "protocol/epoch.hpp"

namespace penstock::protocol::delivery {

// A member's own, as in state.hpp.
struct State {
  Epoch done = 0;
};

// What one member needs of the memory between all.
template <class P>
concept Port = requires(P port, const P& seen, unsigned member, Epoch epoch, std::uint64_t value) {
  { seen.members() } -> std::convertible_to<unsigned>;
  { seen.me() } -> std::convertible_to<unsigned>;
  { seen.batch() } -> std::convertible_to<unsigned>;  // 1, or that of all others
  // Whether words go between us and the member; not asked for me.
  { seen.sends_to(member) } -> std::convertible_to<bool>;
  { seen.takes_from(member) } -> std::convertible_to<bool>;
  // In place, what goes has to leave the buffer before others may write there.
  port.set_aside();
  port.copy(member);  // what goes to it, into its buffer
  port.copy_own();
  { seen.copy_failed() } -> std::convertible_to<bool>;
  // Private words, of the epoch that the member has been served last.
  { seen.served(member) } -> std::same_as<Epoch>;
  port.set_served(member, epoch);
  // Mine, at the member: release. Its own, here: acquire.
  port.store_cts(member, epoch);
  port.store_done(member, epoch);
  { port.load_cts(member) } -> std::same_as<Epoch>;
  { port.load_done(member) } -> std::same_as<Epoch>;
  port.store_closed(member, value);
  { port.load_closed(member) } -> std::same_as<std::uint64_t>;
  port.fence();  // seq_cst
};

// Whose turn it is: a member begins behind itself, so that not all store into one memory at once.
template <class P>
unsigned member_at(const P& port, unsigned turn) {
  return (port.me() + 1 + turn) % port.members();
}

template <class P>
bool meets(const P& port, unsigned member) {
  return member != port.me() && (port.sends_to(member) || port.takes_from(member));
}

// P is a Port, or a const one; below, too.
template <class P>
bool has_closed(P& port, unsigned member, Epoch epoch) {
  return meets(port, member) && closed_before(port.load_closed(member), epoch);
}

// Whether a member that has something to do with us takes no part in the epoch.
template <class P>
bool member_closed(P& port, Epoch epoch) {
  bool closed = false;
  for (unsigned member = 0; member < port.members(); ++member)
    closed |= has_closed(port, member, epoch);
  return closed;
}

// Whether the member has yet to say something that this wait needs.
template <class P>
bool misses(P& port, unsigned member, Epoch epoch) {
  if (member == port.me()) return false;
  return (port.sends_to(member) && port.load_cts(member) < epoch) ||
         (port.takes_from(member) && port.load_done(member) < epoch);
}

// Who has closed is not copied to, nor is anything after a copy that has failed.
template <Port P>
bool may_copy(P& port, unsigned member, Epoch epoch) {
  return !port.copy_failed() && port.load_cts(member) >= epoch && !has_closed(port, member, epoch);
}

// Asks of those of a batch that we send to, in their turns, until one says no.
template <class P, class Ask>
bool all_of_batch(P& port, unsigned first, Ask ask) {
  for (unsigned turn = first; turn < first + port.batch(); ++turn) {
    const unsigned member = member_at(port, turn);
    if (port.sends_to(member) && !ask(member)) return false;
  }
  return true;
}

// Whether all copies have gone to members that were there: one that gives up may use its buffer
// again, even while it is written. Behind a fence, as in closing.hpp.
template <Port P>
bool copy_batch(P& port, unsigned first, Epoch epoch) {
  const auto copied = [&](unsigned member) {
    port.copy(member);
    return !port.copy_failed();
  };
  if (!all_of_batch(port, first, copied)) return false;
  port.fence();
  return all_of_batch(port, first, [&](unsigned each) { return !has_closed(port, each, epoch); });
}

// All of the batch, or none.
template <Port P>
bool serve_batch(P& port, unsigned first, Epoch epoch) {
  if (all_of_batch(port, first, [&](unsigned each) { return port.served(each) == epoch; }))
    return true;
  if (!all_of_batch(port, first, [&](unsigned each) { return may_copy(port, each, epoch); }))
    return false;
  if (!copy_batch(port, first, epoch)) return false;
  return all_of_batch(port, first, [&](unsigned each) {
    // Release: the block comes first.
    port.store_done(each, epoch);
    port.set_served(each, epoch);
    return true;
  });
}

template <Port P>
StartOutcome start(P& port, const State& state) {
  const Epoch epoch = state.done + 1;
  if (member_closed(port, epoch)) return StartOutcome::peer_closed;
  port.set_aside();
  for (unsigned member = 0; member < port.members(); ++member)
    // Release: all that the program has done with its buffer comes first.
    if (member != port.me() && port.takes_from(member)) port.store_cts(member, epoch);
  port.copy_own();
  return StartOutcome::started;
}

template <Port P>
Progress wait(P& port, State& state) {
  const Epoch epoch = state.done + 1;
  bool all = true;
  for (unsigned turn = 0; turn + 1 < port.members(); turn += port.batch())
    all &= serve_batch(port, turn, epoch);
  for (unsigned member = 0; member < port.members(); ++member)
    if (member != port.me() && port.takes_from(member)) all &= port.load_done(member) >= epoch;
  if (!all) return Progress::pending;
  ++state.done;
  return Progress::ended;
}

// Whether the wait of the epoch can never end: who has closed is still needed. A look that follows
// sees what it has said before.
template <class P>
bool is_hopeless(P& port, Epoch epoch) {
  bool hopeless = false;
  for (unsigned member = 0; member < port.members(); ++member) {
    if (!has_closed(port, member, epoch)) continue;
    const bool owed = port.sends_to(member) && port.served(member) < epoch;
    hopeless |= owed || misses(port, member, epoch);
  }
  return hopeless;
}

// A member that is freed, gives up, or has met a failure, takes part in nothing more: its last
// stores into the others' memory. Then its program may use its buffers again.
template <Port P>
void close(P& port, const State& state) {
  for (unsigned member = 0; member < port.members(); ++member)
    // Release: my last block comes before.
    if (member != port.me()) port.store_closed(member, state.done + 1);
  // The other half of the fence behind copies.
  port.fence();
}

// Whether nobody stores into this member's words any more.
template <Port P>
bool all_closed(P& port) {
  bool all = true;
  for (unsigned member = 0; member < port.members(); ++member)
    if (member != port.me()) all &= port.load_closed(member) != 0;
  return all;
}

}  // namespace penstock::protocol::delivery
