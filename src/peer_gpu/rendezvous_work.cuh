// SPDX-License-Identifier: Apache-2.0
// Starts and waits of pairs that are served by rendezvous. A block acts as one processor; the first
// one decides for all.
#pragma once

#include "peer_gpu/block_poll.cuh"
#include "peer_gpu/start_receive.cuh"

namespace penstock::peer_gpu {

using gpu::nanoseconds;

namespace rendezvous = protocol::rendezvous;

// What a block finds when it begins.
struct Beginning {
  Word64 failed, given_up;  // as in Context
  Word64 done;              // of this block's first part
  Word64 started;
  Word64 left;    // part 0's word of the last start
  Word64 closed;  // of the peer
  Word64 cts;     // of a sender that starts
};

// All of it at once, a word a thread: each look at memory costs as much as the message's way.
template <bool starts_send>
__device__ Beginning poll_together(const Reports& reports, const Pair& pair,
                                   const BlockIndex& place) {
  constexpr unsigned count = starts_send ? 7 : 6;
  __shared__ Word64 seen[count];
  if (const unsigned i = threadIdx.x; i < count) {
    PartWords* const words = pair.words;
    Word64* const word = i == 0       ? &reports.queue_failure.failed
                         : i == 1     ? &words->given_up
                         : i == 2     ? &words[place.index].done
                         : i == 3     ? &words[place.index].started
                         : i == 4     ? &words->started
                         : i == 6     ? &pair.sender->cts
                         : pair.sends ? &pair.sender->closed
                                      : &pair.receiver->closed;
    seen[i] = SystemWord(*word).load(::cuda::memory_order_acquire);
  }
  __syncthreads();
  Beginning beginning{seen[0], seen[1], seen[2], seen[3], seen[4], seen[5], 0};
  if constexpr (starts_send) beginning.cts = seen[6];
  return beginning;
}

// Whether a block may still copy its parts of the epoch: it may have found its place long after the
// leader.
__device__ bool may_copy(const Beginning& seen, Word64 epoch) {
  return seen.given_up == 0 && !protocol::closed_before(seen.closed, epoch);
}

__device__ Failure failure_of(StartOutcome outcome) {
  if (outcome == StartOutcome::started) return Failure::none;
  return outcome == StartOutcome::peer_closed ? Failure::peer_closed : Failure::not_ready;
}

// A receive that is started just after the send: pushing saves both sides' waits from moving the
// message, with fewer blocks than a start has. Bounded, so that a start still waits for nobody.
__device__ Word64 poll_a_little_longer(const Pair& pair, Word64 epoch, Word64 cts) {
  // In nanoseconds. A program that starts each receive right before its wait has started it 4 to 8
  // us after the send (docs/performance.md).
  constexpr Word64 a_little = 8'000;
  if (threadIdx.x == 0) {
    const Word64 begin = nanoseconds();
    while (cts < epoch && nanoseconds() - begin < a_little)
      cts = SystemWord(pair.sender->cts).load(::cuda::memory_order_acquire);
  }
  return agree(cts);
}

// The start of a block that does not lead.
template <Form form>
__device__ Team::Help await_leader(const Context& context, const Pair& pair, Team& team,
                                   Word64 epoch, Word64* said, bool willing,
                                   const Crew<form>& crew) {
  PollTimer timer(context, pair.id, pair.notice->awaited, epoch);
  const Team::Help help = team.help(said, willing, [&] {
    const Request request = Crew<form>::ask(timer);
    return request == Request::leave && crew.stays() ? Request::go_on : request;
  });
  if (threadIdx.x == 0) timer.ended();
  return help;
}

template <protocol::Mode mode, bool native>
struct StartRendezvousSend {
  template <Form form>
  static __device__ void run(const Reports& reports, const Pair& pair, const BlockIndex& place,
                             Crew<form>& crew) {
    const Beginning seen = poll_together<true>(reports, pair, place);
    const Context context{reports, seen.failed, seen.given_up};
    const Word64 epoch = seen.done + 1;
    const bool twice = has_started(seen.started, epoch);
    let_successor_in();  // a start waits for nobody
    Team team(pair, place, Phase::start, epoch);
    if (!place.leads()) {
      // A graph that is launched again without a wait finds the first block's old command.
      if (twice) return;
      const Team::Help help =
          await_leader(context, pair, team, epoch, nullptr, may_copy(seen, epoch), crew);
      if (help == Team::Help::later) return crew.leave(false);
      // Otherwise the wait asks whether the copy holds.
      if (help == Team::Help::no_leader)
        end_without_leader(context, pair, team, epoch);
      else if (threadIdx.x == 0)
        pair.words[place.index].started = started(epoch, Left::nothing);
      return;
    }
    SendState state;
    state.done = seen.done;
    Failure why = twice ? Failure::started_twice : Failure::released;
    if (context.failed == 0 && context.given_up == 0 && !twice) {
      BlockPort<native> port(pair, team);
      const bool waits = mode != protocol::Mode::ready && seen.cts < epoch;
      port.know(waits ? poll_a_little_longer(pair, epoch, seen.cts) : seen.cts, seen.closed);
      why = failure_of(rendezvous::start_send<mode>(port, state));
    }
    team.dismiss();
    if (why != Failure::none) {
      fail<Path::rendezvous>(context, pair, epoch, why);
    } else if (threadIdx.x == 0) {
      pair.words->started = started(epoch, state.posted ? Left::message : Left::copy);
      open_peers_gate(pair, epoch);
    }
  }
};

struct StartRendezvousReceive {
  template <Form form>
  static __device__ void run(const Reports& reports, const Pair& pair, const BlockIndex& place,
                             Crew<form>&) {
    const Beginning seen = poll_together<false>(reports, pair, place);
    announce<Path::rendezvous>({reports, seen.failed, seen.given_up}, pair);
  }
};

// The end of a leader's wait. Where it has had a message copied, there is one thing that can fail.
__device__ void end_leading(const Context& context, const Pair& pair, Team& team, Word64 epoch,
                            Failure why) {
  team.dismiss();
  if (team.counted())
    end_of_copy(context, pair, team, epoch, why == Failure::none);
  else if (why != Failure::none)
    fail<Path::rendezvous>(context, pair, epoch, why);
}

// The wait of another block. If it has copied, it asks whether its part holds, as the leader does
// by the state machine. False: it has done nothing yet, and is to leave.
template <Side side, bool native, Form form>
__device__ bool follow_leader(const Context& context, const Pair& pair, Team& team, Word64 epoch,
                              bool willing, Word64* said, const Crew<form>& crew) {
  const Team::Help help = await_leader(context, pair, team, epoch, said, willing, crew);
  if (help == Team::Help::no_leader) {
    end_without_leader(context, pair, team, epoch);
  } else if (help == Team::Help::needed) {
    BlockPort<native> port(pair, team);
    end_of_copy(context, pair, team, epoch,
                willing && protocol::closing::copy_holds<side>(port, epoch));
  }
  return help != Team::Help::later;
}

template <protocol::Mode mode, bool native>
struct WaitRendezvousSend {
  template <Form form>
  static __device__ void run(const Reports& reports, const Pair& pair, const BlockIndex& place,
                             Crew<form>& crew) {
    const Beginning seen = poll_together<false>(reports, pair, place);
    const Context context{reports, seen.failed, seen.given_up};
    const Word64 epoch = seen.done + 1;
    SendState state;
    state.done = seen.done;
    state.posted = seen.left == started(epoch, Left::message);
    state.copied = seen.left == started(epoch, Left::copy);
    Team team(pair, place, Phase::wait, epoch);
    if (place.leads()) {
      BlockPort<native> port(pair, team);
      bool lost = false;
      const PollEnd polled = poll(context, pair, epoch, crew, state, [&] {
        const Progress progress = rendezvous::wait_send<mode>(port, state);
        lost = state.copied && progress != Progress::ended;
        return lost ? Progress::ended : progress;
      });
      if (polled == PollEnd::left) return crew.leave(true);
      end_leading(context, pair, team, epoch,
                  lost                       ? Failure::peer_closed
                  : polled == PollEnd::ended ? Failure::released
                                             : Failure::none);
    } else if (state.posted &&
               !follow_leader<Side::sender, native>(
                   context, pair, team, epoch, may_copy(seen, epoch), pair.sender->fin, crew)) {
      return crew.leave(false);
    }
    if (!crew.stays()) let_successor_in();
    advance(pair, place, epoch);
  }
};

template <protocol::Mode mode, bool native>
struct WaitRendezvousReceive {
  template <Form form>
  static __device__ void run(const Reports& reports, const Pair& pair, const BlockIndex& place,
                             Crew<form>& crew) {
    const Beginning seen = poll_together<false>(reports, pair, place);
    const Context context{reports, seen.failed, seen.given_up};
    const Word64 epoch = seen.done + 1;
    ReceiveState state;
    state.done = seen.done;
    Team team(pair, place, Phase::wait, epoch);
    if (place.leads()) {
      BlockPort<native> port(pair, team);
      bool lost = false;
      const PollEnd polled = poll(context, pair, epoch, crew, state, [&] {
        const Progress progress = rendezvous::wait_receive<mode>(port, state);
        lost = state.copied && progress != Progress::ended;
        return lost || state.promise_broken ? Progress::ended : progress;
      });
      if (polled == PollEnd::left) return crew.leave(true);
      end_leading(context, pair, team, epoch,
                  lost                       ? Failure::peer_closed
                  : polled == PollEnd::ended ? Failure::released
                  : state.promise_broken     ? Failure::promise_broken
                                             : Failure::none);
    } else if (!follow_leader<Side::receiver, native>(
                   context, pair, team, epoch, may_copy(seen, epoch), pair.receiver->done, crew)) {
      return crew.leave(false);
    }
    if (!crew.stays()) let_successor_in();
    advance(pair, place, epoch);
  }
};

}  // namespace penstock::peer_gpu
