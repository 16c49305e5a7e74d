// SPDX-License-Identifier: Apache-2.0
// Large messages between processes of one host, past MPI: announced in rings, matched by MPI's
// rules and pulled by their receiver, whether its program is in a call or computes. The program's
// threads and one of the engine's do the same steps; none of them calls MPI.
//
// Both ends must hand it the same messages. That is so where receives are as long as their
// messages: then both know the size (PENSTOCK_OVERLAP=exact).
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/no_copy.hpp"
#include "base/settings.hpp"
#include "core/matching/match_order.hpp"
#include "group/world.hpp"
#include "overlap/caller.hpp"
#include "overlap/courier.hpp"
#include "overlap/free_core.hpp"
#include "overlap/message.hpp"
#include "overlap/station.hpp"
#include "peer/holding.hpp"
#include "peer/peer.hpp"

namespace penstock::overlap {

struct Counts {
  std::uint64_t sent = 0;
  std::uint64_t by_thread = 0;   // pulled by the engine's thread as soon as it could
  std::uint64_t by_program = 0;  // in calls of the program's
  std::uint64_t by_grace = 0;    // by the thread, as the program had not come
  std::uint64_t unexpected = 0;  // announced before their receive
};

class Engine : private base::NoCopy {
 public:
  // Collective over MPI_COMM_WORLD. Throws base::Error on all processes.
  Engine(const base::Settings& settings, group::World& world, peer::Peer& peer);
  ~Engine();  // behind idle(); ends the thread, and leaves its block to the arena's end

  // ---- Of what never changes, without the lock
  // Whether messages between these two processes are the engine's; all processes have the same
  // answer.
  bool serves(int one, int other) const noexcept;
  // False: this process has no shared memory, and so no messages for it.
  bool connected() const noexcept { return block_.block() != nullptr; }
  // Two processes whose messages are not; nothing: there are none.
  std::optional<std::pair<int, int>> apart() const noexcept;
  std::size_t least_bytes() const noexcept { return least_bytes_; }

  // ---- Any thread of the program, without the lock, which all take that are declared from here
  // on. The caller keeps the message until it has ended.
  // Throw base::Error, std::bad_alloc; then nothing has begun. `caller`: what the program does
  // next.
  void send(Send& message);
  void receive(Receive& message, Caller caller);
  // A message that probe() has taken out.
  void receive(Receive& message, const Arrival& arrival, Caller caller);
  // The earliest message that is announced and that no receive has taken. `take`: it is the
  // caller's from now on.
  std::optional<Arrival> probe(const core::Envelope& key, bool take);
  // False: it has a message already, and completes.
  bool cancel(Receive& message) noexcept;
  void advance(Caller caller) noexcept;
  // Around a call that looks again and again: meanwhile senders need not wake the thread, which
  // sleeps on.
  void begin_waiting() noexcept;
  void end_waiting() noexcept;
  // A number that changes when a message has ended or is ready to be pulled.
  std::uint64_t news() noexcept;
  bool thread_is_at_it() noexcept;  // pulls right now
  // In such a call: sleeps until there is other news than `seen`, and at most for so long.
  void doze(std::uint64_t seen, Clock::duration limit) noexcept;
  bool ended(Message& message) noexcept;
  Message* take_ended() noexcept;  // one that is listed; null: none
  // No messages of ours that others have not read.
  bool idle() noexcept;

  // ---- Promises that are not kept
  struct Unmatched {
    std::uint64_t serial;
    std::shared_ptr<const group::Communicator> communicator;
    int peer, tag;
    std::string label;
  };
  // Receives that have found no message for so long.
  std::vector<Unmatched> unmatched(Clock::duration for_so_long);
  // Whether a message that the process has begun may still come. It does not lie in our tables.
  bool may_bring_more(int process) noexcept;
  // The receive of that number ends with that error, unless it has a message by now.
  void fail_unmatched(std::uint64_t serial, const base::Error& error) noexcept;

  Counts counts() noexcept;
  std::string lines();  // one for each message that is under way, behind a line break

 private:
  struct Partner {
    Station station;
    Ring* to = nullptr;              // at them
    std::uint64_t begun = 0;         // messages to them
    std::uint64_t announced = 0;     // of these
    std::uint64_t taken = 0;         // their lines that we have taken
    std::deque<Send*> waiting;       // for room in the ring, or for a word
    std::optional<Arrival> stalled;  // a line that there was no memory for
    bool dead = false;
  };

  // ---- Their callers hold the lock
  bool look() noexcept;  // at all that others have done; true: it was something
  bool look_at_the_dead() noexcept;
  void note_beginning(Message& message) noexcept;
  void end(Message& message) noexcept;
  void fail(Message& message, base::ErrorKind kind, const char* why) noexcept;
  // Sending (engine_sending.cpp)
  bool announce_waiting(int process) noexcept;
  bool look_at_answers() noexcept;
  bool find_answer() noexcept;
  std::uint64_t& answer(std::uint32_t which) const noexcept;
  // Reading (engine_reading.cpp)
  void post(Receive& message);
  bool take_lines() noexcept;
  bool take_lines_of(int process) noexcept;
  bool sort_in(Arrival& arrival) noexcept;
  std::uint64_t& answer_of(const Arrival& arrival) const;
  void match(Receive& message, const Arrival& arrival) noexcept;
  Receive* claim_for(Caller caller) noexcept;
  bool left_to(Caller caller, Receive& message) noexcept;
  // The thread (engine_thread.cpp)
  void start_thread();
  void tell_thread(Caller caller) noexcept;
  bool look_for_core() noexcept;

  // ---- With the lock or without: atomic words alone
  void ring_thread() noexcept;
  bool may_sleep() noexcept;

  // ---- Without the lock, which they take where they need it
  void connect(peer::Peer& peer);  // before there are two threads
  void pull(Receive& message, Caller caller) noexcept;
  // By the thread
  void run() noexcept;
  std::optional<Clock::duration> may_sleep_for() noexcept;
  bool naps() noexcept;
  void nap(Clock::duration limit) noexcept;
  void sleep(std::optional<Clock::duration> limit) noexcept;

  // A message that the program's own calls are to pull is the thread's after this: the program may
  // compute for long, or wait in a call of MPI's that we do not see.
  static constexpr std::chrono::milliseconds grace{1};

  const std::size_t least_bytes_;
  const base::OverlapPolicy policy_;
  group::World& world_;
  peer::Peer& peer_;
  const int rank_;
  const Courier courier_;
  const FreeCore free_core_;
  peer::Holding block_;
  Station station_;
  std::vector<bool> served_;  // by both ranks

  std::mutex mutex_;  // the lock: of all that follows, but the last line
  std::vector<Partner> partners_;
  core::PostedReceives<Receive*> posted_;
  std::set<Receive*> unmatched_;
  core::UnexpectedMessages<Arrival> unexpected_;
  std::vector<Receive*> ready_;              // matched, and not pulled whole
  std::vector<Send*> sent_;                  // announced, and not answered
  std::vector<std::uint32_t> free_answers_;  // of all blocks; the first is the station's
  std::vector<peer::Holding> more_answers_;
  std::uint64_t numbers_ = 0, serials_ = 0;
  std::set<int> with_waiting_;  // partners
  Message* first_ended_ = nullptr;
  Message* last_ended_ = nullptr;
  Clock::time_point last_news_{};
  Clock::duration next_look_{};  // of the thread for a free core
  bool core_is_free_;            // for the thread, when it last looked
  std::uint64_t news_ = 0;
  int pulled_by_thread_ = 0;
  int waiting_ = 0;      // calls of the program's
  bool parked_ = false;  // the thread, by the first of them
  Counts counts_;
  std::thread thread_;
  std::atomic<bool> thread_news_{false}, stopping_{false};
};

}  // namespace penstock::overlap
