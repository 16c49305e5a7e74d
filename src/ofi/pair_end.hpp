// SPDX-License-Identifier: Apache-2.0
// One half of a pair: its words, counters and regions, and how its epochs are carried out.
//
//   sender    trigger  counts starts, and for a rendezvous the receiver's CTS: even values fire
//             data     counts the writes that have been placed: the last one ends the epoch
//   receiver  trigger  counts starts (rendezvous): each triggers a CTS; cts_ends counts their ends
//             data     counts the writes that have arrived: the last one ends the epoch
//
// A start rings a doorbell. Where the NIC maps its counters that is the trigger itself, and no
// thread has to do anything for an epoch that is posted: so the last write also triggers a signal,
// `done += 1`, that a stream can poll. The counter `signals` tells when these have ended. It is not
// cts_ends, since operations to one process end in their order, those to several in any. Where the
// NIC does not map its counters, the engine hands the doorbell on and looks at `data` itself.
//
// An epoch is posted, as deferred operations, before its doorbell. What has not been posted by then
// is issued by the engine, which counts and writes what the provider would have, so that both kinds
// can follow each other. One epoch at a time is under way, so that no message rests on the
// network's order; and how the halves part does not either (protocol/parting.hpp).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/first_error.hpp"
#include "ofi/engine_client.hpp"
#include "ofi/hand_epoch.hpp"
#include "ofi/operation_pool.hpp"
#include "ofi/pair_counters.hpp"
#include "ofi/pair_memory.hpp"
#include "ofi/posted_ahead.hpp"
#include "ofi/start_word.hpp"
#include "protocol/giving_up.hpp"
#include "protocol/parting.hpp"
#include "transport/message.hpp"

namespace penstock::ofi {

// What the ends of a process share.
struct Common {
  Fabric& fabric;
  WordPool& words;
  OperationPool& operations;
  Source one;                   // the constant that additions add
  fi_addr_t self;               // this process
  std::uint64_t counter_limit;  // no threshold may come near it
  bool signals;  // the provider tells streams what has ended, as no thread of ours need be awake
};

class PairEnd final : public EngineClient {
 public:
  PairEnd(Common& common, const transport::Message& message, protocol::Mode send_mode,
          const Cut& cut,
          fi_addr_t peer);  // throws Error
  ~PairEnd() override;

  bool sends() const noexcept { return direction == transport::Direction::send; }
  bool buffered() const noexcept { return sends() && mode == protocol::Mode::buffered; }
  PairMemory& memory() noexcept { return memory_; }
  const plan::Packed& packed() const noexcept { return memory_.packed(); }

  // ---- Where starts are enqueued, one thread at a time
  // One more start will come. True: soon, so that it may be posted now; the others are seen when
  // earlier ones are rung.
  bool arm() noexcept {
    const protocol::Epoch epoch = armed_.load(std::memory_order_relaxed) + 1;
    armed_.store(epoch, std::memory_order_release);
    return epoch <= started() + epochs_ahead;
  }

  // ---- The worker's side
  // False: the engine has refused starts meanwhile, as the peer is gone.
  [[nodiscard]] bool trigger(protocol::Epoch epoch) noexcept {
    if (!starts_.begin(epoch)) return false;
    if (stream_rings()) counters_.doorbell->ring(1);
    starts_.begun(epoch);
    return true;
  }
  protocol::Epoch started() const noexcept { return starts_.started(); }
  protocol::Epoch completed() const noexcept {
    return std::max(load(words().done), counted_.load(std::memory_order_acquire));
  }
  bool complete(protocol::Epoch epoch) const noexcept { return completed() >= epoch; }
  // Ring: whether the slot of that epoch is free.
  bool room(protocol::Epoch epoch) const noexcept {
    return std::max(load(words().consumed), load(words().seen)) + cut.slots >= epoch;
  }
  // Buffered sends: whether that epoch's buffer here and its slot there are free.
  bool buffer_free(protocol::Epoch epoch) const noexcept {
    return room(epoch) && (epoch <= cut.slots || complete(epoch - cut.slots));
  }
  unsigned buffers() const noexcept { return cut.slots; }
  // Copies the message of a buffered send.
  std::optional<base::Error> fill(protocol::Epoch epoch) noexcept {
    memory_.fill_slot(epoch);
    return std::nullopt;
  }
  // Whether it is over as far as the words tell, with a peer that has not gone.
  bool wait_is_over(protocol::Epoch epoch) const noexcept {
    if (buffered()) return true;
    if (!complete(epoch)) return false;
    return !sends() || !in_slots() || room(epoch + 1);
  }
  // Returns true when progress has something to do for that.
  bool end_wait(protocol::Epoch epoch) noexcept {
    if (sends() || !in_slots()) return false;
    memory_.empty_slot(epoch);
    return true;  // the slot is given back
  }
  std::string describe() const;
  std::string describe_given_up() const;
  std::string path() const;
  bool closed_before(protocol::Epoch epoch) const noexcept {
    return protocol::closed_before(closed_epoch(load(words().closed)), epoch);
  }
  // Why start or wait number `epoch` cannot succeed, as far as the words tell.
  std::optional<base::Error> broken(protocol::Epoch epoch) const;
  const PairWords& words() const noexcept { return memory_.words(); }

  // ---- The side of progress, under the engine's lock
  unsigned entries() const noexcept override;
  unsigned post() noexcept override;
  bool advance() noexcept override;
  // Buffered sends: has what the receiver has taken read from its memory; credits_known() tells
  // when that is done. False: it cannot be read now.
  bool query_credits() noexcept;
  bool credits_known() const noexcept { return !credits_.query.under_way; }
  // Whether its message has come, whether or not it has been started.
  bool arrived(protocol::Epoch epoch) const noexcept;
  bool has_work() const noexcept override;
  void ended(RdmaOperation& operation) noexcept override;
  void failed(RdmaOperation& operation, int code) noexcept override;
  void fail(const base::Error& error) noexcept { failure_.set(error); }
  void tell(protocol::Epoch closed, base::ErrorKind reason) noexcept;
  void stop() noexcept;  // nothing that has not begun ever will
  // The peer may wait for this half's notice, which its program does not give: gives it. Returns
  // true when that has changed something.
  bool part_by_itself() noexcept;
  // The peer has gone, and what has been started is over or will never be received.
  bool is_wanted_no_more() const noexcept;
  // Of a half that has been stopped: nothing reads or writes the program's buffer any more.
  bool untouched() const noexcept;
  // The network has not said that it has been delivered.
  bool owes_notice() const noexcept { return notice_.owed || notice_.operation.under_way; }
  // Both halves are gone, the provider has nothing of ours, and nothing of the peer's is on its way
  // to our words.
  bool over() const noexcept;

  const transport::Direction direction;
  const protocol::Mode mode;
  const int peer;
  const Cut cut;

  // Progress only: what the engine keeps with each end.
  struct Seat {
    bool closing = false;   // our half is closed
    bool enrolled = false;  // the engine moves it
    std::size_t place = 0;  // among all ends
  };
  alignas(64) Seat seat;

 private:
  // Providers walk through what they hold, and the more a pair has posted the less is left for
  // others.
  static constexpr protocol::Epoch epochs_ahead = 8;

  std::unique_ptr<RdmaOperation[]> operations(unsigned count, RdmaOperation::Role role);
  bool whole(const PostedPart& part) const noexcept;
  std::uint64_t steps() const noexcept { return rendezvous() && sends() ? 2 : 1; }
  bool in_slots() const noexcept { return cut.path == Path::ring; }
  bool rendezvous() const noexcept { return cut.path == Path::rendezvous; }
  std::uint64_t relative(protocol::Epoch epoch) const noexcept { return counters_.relative(epoch); }
  bool ready_for_next() const noexcept;
  // Several epochs of a buffered send may have been started: the engine lets one after the other
  // go.
  bool stream_rings() const noexcept { return counters_.doorbell && !buffered(); }
  // The doorbell does not wait for the engine.
  bool rings_ahead() const noexcept { return stream_rings() && !counters_.doorbell->needs_relay(); }

  bool defer(RdmaOperation* operation, const Counter& trigger, std::uint64_t threshold,
             const Counter& completion) noexcept;
  bool defer_signal(protocol::Epoch epoch) noexcept;
  bool defer_data(protocol::Epoch epoch, unsigned part) noexcept;
  bool defer_cts(protocol::Epoch epoch) noexcept;
  RdmaOperation* take_operation(protocol::Epoch epoch, RdmaOperation::Role role) noexcept;

  void take_doorbell() noexcept;
  void hand_on_doorbell() noexcept;
  void rewind() noexcept;
  bool carry_out() noexcept;
  bool issue_parts() noexcept;
  bool send_cts() noexcept;
  bool poll_counters() noexcept;
  bool free_entries() noexcept;
  bool forget_posted() noexcept;
  bool has_ended(const RdmaOperation& operation) const noexcept;
  bool in_flight() const noexcept;
  bool moves_program_memory() const noexcept {
    return !buffered() && (sends() || !in_slots()) && !packed().has_room();
  }
  protocol::Epoch offered() const noexcept;
  bool is_writing() const noexcept;
  bool give_credits() noexcept;
  bool send_notice() noexcept;
  void poke() noexcept;
  bool anything_under_way() const noexcept;
  bool quiet() const noexcept;

  // What a ring's receiver gives back, and what a buffered send asks of it.
  struct CreditState {
    protocol::Credits count;
    std::unique_ptr<RdmaOperation[]> operations;  // in turns: as many as there are slots
    RdmaOperation query;
  };
  // The last that the peer hears of us.
  struct LastNotice {
    std::uint64_t words[2] = {};  // as they stand in PairWords
    bool owed = false;
    RdmaOperation operation;
  };
  struct Stopped {
    bool now = false;
    bool forgotten = false;     // the provider has nothing of ours any more
    protocol::Epoch begun = 0;  // the last epoch whose operations had begun
    // Receiver: all that it had asked for. Looked at while there are counters; what comes later is
    // told by the sender's notice.
    bool all_arrived = false;
  };

  Common& common_;
  PairCounters counters_;
  PairMemory memory_;  // behind the counters that its regions are bound to

  // Written by the worker, read by progress.
  alignas(64) StartWord starts_;
  alignas(64) std::atomic<protocol::Epoch> armed_{0};  // starts that have been enqueued
  // Complete as the counters tell, ahead of a signal.
  alignas(64) std::atomic<protocol::Epoch> counted_{0};
  base::FirstError failure_;

  protocol::Epoch rung_ = 0;  // doorbells
  PostedAhead posted_;
  HandEpoch hand_;
  std::uint64_t polls_ = 0;
  CreditState credits_;
  LastNotice notice_;
  Stopped stopped_;
  unsigned lost_ = 0;  // operations that have failed
};

}  // namespace penstock::ofi
