// SPDX-License-Identifier: Apache-2.0
// One end of what two processes have between them, a matched pair or a pair of a window: how its
// starts are rung, posted and carried out, and how it parts from its peer.
//
//   trigger  counts starts, and additions of the peer where each start waits for one; it fires what
//            is posted
//   data     counts the writes and reads that have ended, or the writes that have arrived
//   added    counts the ends of additions to a word of the peer's
//   signals  counts the ends of additions to our own `done`
//
// A start rings a doorbell. Where the NIC maps its counters that is the trigger itself, and no
// thread has to do anything for an epoch that is posted: so the last write also triggers a signal,
// `done += 1`, that a stream can poll. It has a counter of its own, since operations to one process
// end in their order, those to several in any. Where the NIC does not map its counters, the engine
// hands the doorbell on and looks at `data` itself.
//
// An epoch is posted, as deferred operations, before its doorbell. What has not been posted by then
// is issued by the engine, which counts and writes what the provider would have, so that both kinds
// can follow each other. One epoch at a time is under way, so that no message rests on the
// network's order; and how the ends part does not either (protocol/parting.hpp).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/error.hpp"
#include "base/first_error.hpp"
#include "ofi/end_words.hpp"
#include "ofi/engine_client.hpp"
#include "ofi/hand_epoch.hpp"
#include "ofi/operation_pool.hpp"
#include "ofi/pair_counters.hpp"
#include "ofi/posted_ahead.hpp"
#include "ofi/start_word.hpp"
#include "protocol/giving_up.hpp"
#include "protocol/parting.hpp"
#include "protocol/triggered.hpp"
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

class End : public EngineClient {
 public:
  // What an end does in each epoch.
  struct Form {
    bool triggered;       // it waits for its start
    bool signals;         // its own addition to `done` ends it; else the peer's to `consumed`
    bool adds;            // it adds to a word of the peer's
    bool waits_for_peer;  // the trigger counts an addition of the peer's, too
  };

  bool sends() const noexcept { return direction == transport::Direction::send; }
  virtual bool buffered() const noexcept { return false; }

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
  // The words are the provider's, and tell a thread nothing of what it has done besides: where
  // there are no signals the engine tells.
  protocol::Epoch completed() const noexcept {
    const protocol::Epoch counted = counted_.load(std::memory_order_acquire);
    return common_.signals ? std::max(load(*signal_), counted) : counted;
  }
  bool complete(protocol::Epoch epoch) const noexcept { return completed() >= epoch; }
  bool closed_before(protocol::Epoch epoch) const noexcept {
    return protocol::closed_before(closed_epoch(load(words().closed)), epoch);
  }
  // Why start or wait number `epoch` cannot succeed, as far as the words tell.
  std::optional<base::Error> broken(protocol::Epoch epoch) const;
  const PairWords& words() const noexcept { return *words_; }
  std::string describe_given_up() const;

  // ---- The side of progress, under the engine's lock
  bool advance() noexcept final;
  bool has_work() const noexcept override;
  void ended(RdmaOperation& operation) noexcept override;
  void failed(RdmaOperation& operation, int code) noexcept override;
  // Whether what ends that epoch has come, whether or not it has been started.
  virtual bool arrived(protocol::Epoch epoch) const noexcept = 0;
  void fail(const base::Error& error) noexcept { failure_.set(error); }
  void tell(protocol::Epoch closed, base::ErrorKind reason) noexcept;
  void stop() noexcept;  // nothing that has not begun ever will
  // The peer may wait for this end's notice, which its program does not give: gives it. Returns
  // true when that has changed something.
  bool part_by_itself() noexcept;
  // The peer has gone, and what has been started is over or will never be received.
  bool is_wanted_no_more() const noexcept;
  // Of an end that has been stopped: nothing reads or writes the program's memory any more.
  bool untouched() const noexcept;
  // The network has not said that it has been delivered.
  bool owes_notice() const noexcept { return notice_.owed || notice_.operation.under_way; }
  // Both ends are gone, the provider has nothing of ours, and nothing of the peer's is on its way
  // to our words.
  bool over() const noexcept;

  const transport::Direction direction;
  const int peer;

  // Progress only: what the engine keeps with each end.
  struct Seat {
    bool closing = false;   // our end is closed
    bool enrolled = false;  // the engine moves it
    std::size_t place = 0;  // among all ends
  };
  alignas(64) Seat seat;

 protected:
  // Providers walk through what they hold, and the more an end has posted the less is left for
  // others.
  static constexpr protocol::Epoch epochs_ahead = 8;

  // Throws base::Error.
  End(Common& common, const Form& form, transport::Direction its_direction, int its_peer,
      fi_addr_t peer_address);
  ~End() override;

  // ---- What an epoch of this end consists of
  // What `data` has counted when that epoch has ended, the present one, or one before or behind it
  // that is posted.
  virtual std::uint64_t data_through(protocol::Epoch epoch) const noexcept = 0;
  virtual bool is_whole(const PostedPart& part) const noexcept = 0;
  // Its doorbell has been rung.
  virtual void begin_epoch(protocol::Epoch) noexcept {}
  // What is to be known of the next epoch before it can be posted.
  virtual void look_ahead() noexcept {}
  // Issues what the provider has not been given in time of the epoch in hand. True: something has
  // moved. unissued() tells which parts are left.
  virtual bool issue_rest() noexcept { return false; }
  virtual std::uint64_t unissued() const noexcept { return 0; }
  virtual bool has_issued_all() const noexcept { return unissued() == 0; }
  virtual Target added_word() const noexcept { return {}; }  // of the peer's, where it adds
  virtual bool counters_near_limit() const noexcept = 0;
  virtual void rewound() noexcept {}  // data_through() counts from rung_ on
  virtual bool stream_rings() const noexcept { return counters_.doorbell != nullptr; }

  // ---- Its end
  virtual void close_regions() noexcept = 0;
  // The last epoch whose operations can have begun, of an end that has just been stopped.
  virtual protocol::Epoch last_begun() const noexcept { return rung_; }
  virtual protocol::Epoch last_offered() const noexcept { return rung_; }  // to the peer's writes
  virtual bool moves_program_memory() const noexcept { return true; }
  virtual bool is_writing() const noexcept;
  // Whether that epoch's signal, which is posted, has begun or will.
  virtual bool signal_fires(protocol::Epoch epoch) const noexcept {
    return read(counters_.data) >= data_through(epoch);
  }
  virtual bool may_part() const noexcept = 0;
  virtual protocol::Credits credits() const noexcept = 0;   // additions to the peer's words
  virtual std::uint64_t credits_here() const noexcept = 0;  // and of the peer to ours
  virtual bool give_credits() noexcept { return false; }
  virtual bool anything_under_way() const noexcept {
    return notice_.operation.under_way || hand_.addition.under_way;
  }

  // ---- What both kinds of ends are made of
  std::uint64_t relative(protocol::Epoch epoch) const noexcept { return counters_.relative(epoch); }
  std::uint64_t fires_at(protocol::Epoch epoch) const noexcept {
    return form_.waits_for_peer ? protocol::triggered::fires_at(relative(epoch)) : relative(epoch);
  }
  bool has_fired(protocol::Epoch epoch) const noexcept {
    return !counters_.trigger || read(counters_.trigger) >= fires_at(epoch);
  }
  // The doorbell does not wait for the engine.
  bool rings_ahead() const noexcept { return stream_rings() && !counters_.doorbell->needs_relay(); }
  bool has_told_peer() const noexcept { return notice_.words[0] != 0; }
  bool is_armed(protocol::Epoch epoch) const noexcept {
    return epoch <= armed_.load(std::memory_order_acquire);
  }
  bool may_post_next() const noexcept;
  bool defer(RdmaOperation* operation, const Counter& trigger, std::uint64_t threshold,
             const Counter& completion) noexcept;
  // The epoch's addition to `done`, and that to the peer's word, when `trigger` shows that much.
  bool defer_signal(protocol::Epoch epoch, const Counter& trigger,
                    std::uint64_t threshold) noexcept {
    return defer_one(epoch, RdmaOperation::Role::signal, trigger, threshold);
  }
  bool defer_addition(protocol::Epoch epoch, const Counter& trigger,
                      std::uint64_t threshold) noexcept {
    return defer_one(epoch, RdmaOperation::Role::addition, trigger, threshold);
  }
  RdmaOperation* take_operation(protocol::Epoch epoch, RdmaOperation::Role role) noexcept;
  enum class Issued : std::uint8_t { yes, later, refused };  // later: there is no room now
  // Issues an operation that is made, and reported. A refusal is a failure.
  Issued issue(RdmaOperation& operation, const char* call, bool copied) noexcept;
  // The same of an addition of one.
  Issued issue_addition(RdmaOperation& operation, const Target& word) noexcept;
  std::unique_ptr<RdmaOperation[]> operations(unsigned count, RdmaOperation::Role role);

  struct Stopped {
    bool now = false;
    bool forgotten = false;     // the provider has nothing of ours any more
    protocol::Epoch begun = 0;  // the last epoch whose operations had begun
    // All that the peer may write has come. Looked at while there are counters; what comes later is
    // told by the peer's notice.
    bool all_arrived = false;
  };

  // Operations that have failed, by the counter that knows nothing of them.
  struct Lost {
    unsigned data = 0, signals = 0, additions = 0;
  };

  Common& common_;
  const Form form_;
  PairCounters counters_;
  EndWords words_;
  base::FirstError failure_;
  protocol::Epoch rung_ = 0;  // doorbells
  PostedAhead posted_;
  HandEpoch hand_;
  Stopped stopped_;
  Lost lost_;

 private:
  bool defer_one(protocol::Epoch epoch, RdmaOperation::Role role, const Counter& trigger,
                 std::uint64_t threshold) noexcept;
  bool ready_for_next() const noexcept;
  void take_doorbell() noexcept;
  void hand_on_doorbell() noexcept;
  void rewind() noexcept;
  bool carry_out() noexcept;
  bool poll_counters() noexcept;
  bool free_entries() noexcept;
  bool forget_posted() noexcept;
  bool has_ended(const RdmaOperation& operation) const noexcept;
  bool in_flight() const noexcept;
  bool send_notice() noexcept;
  void poke() noexcept;
  bool quiet() const noexcept;

  // The last that the peer hears of us.
  struct LastNotice {
    std::uint64_t words[2] = {};  // as they stand in PairWords
    bool owed = false;
    RdmaOperation operation;
  };

  const std::uint64_t* const signal_;  // the word that ends an epoch, where a stream polls it
  // Written by the worker, read by progress.
  alignas(64) StartWord starts_;
  alignas(64) std::atomic<protocol::Epoch> armed_{0};  // starts that have been enqueued
  // Complete as the counters tell, ahead of a signal.
  alignas(64) std::atomic<protocol::Epoch> counted_{0};

  std::uint64_t polls_ = 0;
  LastNotice notice_;
};

}  // namespace penstock::ofi
