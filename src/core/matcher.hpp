// SPDX-License-Identifier: Apache-2.0
// Matching: the handshake that pairs a send with its receive, once.
//
//   sender    Offer    ->  receiver   what is sent, and what each transport that could carry it needs to know
//   receiver  Answer   ->  sender     the transport it chose and that one's half; or a refusal (truncation, none fits)
//   sender    Confirm  ->  receiver   connected; or why not, and the receiver tries the next transport
//   sender    Withdraw ->  receiver   the send has been given up: the offer must not be taken any more, and a receive
//   that
//                                     has taken it is posted again
//
// Letters between two processes keep their order, so offers arrive as the sender handed its requests to match. The
// receiver decides everything, as it alone can resolve wildcards. Nobody waits for a process that has ended: named
// requests fail, a wildcard receive takes another offer.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/match_job.hpp"
#include "core/match_order.hpp"
#include "core/pair_counts.hpp"
#include "core/transports.hpp"
#include "group/mailbox.hpp"
#include "group/world.hpp"

namespace penstock::core {

class LetterReader;
class LetterWriter;

class Matcher {
 public:
  Matcher(const base::Settings& settings, group::World& world, group::Mailbox& mailbox, Transports& transports);
  ~Matcher();

  // Checks all operations and sets them aside. Throws base::Error when one cannot be matched: then nothing has changed.
  std::shared_ptr<MatchJob> prepare(std::vector<Operation*> operations);
  // Hands them to match. `job->on_finished` is set by now, if at all.
  void begin(const std::shared_ptr<MatchJob>& job);
  // Drives until the job is finished. Blocks. Throws the job's error.
  void finish(MatchJob& job);
  // One round: reads letters, looks for dead peers and passed deadlines. Never blocks. What goes wrong fails the
  // operations that it concerns: all under way where MPI brings no letters any more.
  void drive();
  // At the end of the library, which `call` (a name of an MPI or PST function) has begun: fails and logs all that is
  // under way, so that whoever waits for it hears of it. Blocks for nobody.
  void give_up_matches(const std::string& call) noexcept;
  // Logs the sends of others that nobody here has received. At the end of the library.
  void report_leftovers();
  // The end, collective and after give_up_matches(): returns when every process has brought all its letters to where
  // they go, as nobody reads letters inside MPI_Finalize, and an MPI whose queues are full of them would not leave it.
  // Ends early for PENSTOCK_TIMEOUT, and soon when a process has died or MPI carries no letters to one.
  void part() noexcept;
  const PairCounts& pairs() const noexcept { return pairs_; }

  // From the first job that nobody will drive on, a thread of ours does (programs at MPI_THREAD_MULTIPLE whose calls do
  // not come through the recorder). It sleeps while no match is under way. Throws base::Error(resources).
  void drive_from_own_thread();
  // Ends that thread: from now on operations may be deleted whose match has no outcome.
  void stop_driving() noexcept;

  static bool under_way() noexcept { return jobs_under_way.load(std::memory_order_relaxed) != 0; }

 private:
  using Id = std::uint64_t;

  using Refusals = std::vector<std::pair<std::string, std::string>>;  // transport, and why it does not serve

  struct Sending {  // a send between its offer and its outcome
    Operation* operation;
    std::shared_ptr<MatchJob> job;
    std::map<std::string, std::unique_ptr<transport::Offer>> offers;  // by transport
    Refusals refusals;
  };
  struct Receiving {  // a receive that has been posted
    Operation* operation = nullptr;
    std::shared_ptr<MatchJob> job;
    std::uint64_t number = 0;
    bool operator==(const Receiving& other) const noexcept { return operation == other.operation; }
  };
  struct IncomingOffer {  // a send of a peer, as its letter describes it
    int sender = -1;      // world rank
    Id id = 0;
    Envelope envelope;
    transport::Message message;  // without buffer
    std::map<std::string, transport::Blob> blobs;
    Refusals refusals;  // the sender's
  };
  struct Answered {  // a receive whose answer is on its way
    Receiving receiving;
    IncomingOffer offer;
    std::string transport;
    std::unique_ptr<transport::Acceptance> acceptance;
    std::vector<std::string> tried;
    Refusals refusals;                     // the receiver's
    std::optional<base::Error> abandoned;  // why the receive has been given up; `receiving` has no operation then
  };

  void check(const Operation& operation) const;
  void post(Operation& operation, const std::shared_ptr<MatchJob>& job);
  void post_send(Operation& operation, const std::shared_ptr<MatchJob>& job);
  void post_receive(Operation& operation, const std::shared_ptr<MatchJob>& job);

  void read(int rank, std::span<const std::byte> letter);
  void read_offer(int rank, LetterReader& letter);
  void read_answer(LetterReader& letter);
  void read_confirm(LetterReader& letter);
  void read_withdrawal(int rank, LetterReader& letter);
  void write(int rank, MatchJob& job, LetterWriter& letter);
  void send_withdrawal(const Sending& sending, Id id) noexcept;

  void take_offer_or_wait(Receiving receiving);
  std::optional<IncomingOffer> take_unexpected(const Envelope& key);
  void pair(Receiving receiving, IncomingOffer offer);
  void answer(Answered answered);
  void send_answer(Answered& answered);
  void complete(Answered& answered);
  bool accept_next(Answered& answered);
  void refuse(const IncomingOffer& offer, MatchJob& job, const base::Error& error) noexcept;
  bool connect(Sending& sending, Id receiver_id, LetterReader& answer);

  template <class Step>
  void attempt(Operation& operation, const std::shared_ptr<MatchJob>& job, Step&& step);
  void succeed(Operation& operation, MatchJob& job);
  void fail(Operation& operation, MatchJob& job, const base::Error& error);
  void give_up(Operation& operation, MatchJob& job, const base::Error& error);
  void give_up_all(const base::Error& error);
  void settle(MatchJob& job);
  void end_settled_jobs();
  void withdraw(Operation& operation, const base::Error& why);
  bool gone(int rank) const;
  std::optional<base::Error> lost_cause(const Operation& operation, bool late) const;
  void look_for_lost_causes();
  void look_for_dead_senders();
  bool anybody_unreachable() const;
  void note_pair(const transport::Plan& plan, const std::string& transport, const Refusals& mine,
                 const Refusals& theirs);
  void help() noexcept;

  static Envelope envelope_of(const Recording& recording);
  static std::string text_of(const Refusals& refusals);
  static void write_refusals(LetterWriter& letter, const Refusals& refusals);
  static Refusals read_refusals(LetterReader& letter);
  static base::Error error_of(const std::exception& failure);

  static std::atomic<int> jobs_under_way;

  const base::Settings& settings_;
  group::World& world_;
  group::Mailbox& mailbox_;
  Transports& transports_;
  PairCounts pairs_;

  std::mutex mutex_;                                   // all below
  std::chrono::steady_clock::time_point next_look_{};  // for lost causes
  Id last_id_ = 0;
  std::vector<std::shared_ptr<MatchJob>> jobs_;
  std::vector<std::shared_ptr<MatchJob>> settled_;  // every operation has its outcome, letters may be unsent
  std::vector<std::function<void()>> finished_;     // to call without the lock
  bool ending_ = false;                             // nobody waits for letters to leave
  std::unordered_map<Id, Sending> sending_;
  std::unordered_map<Id, Answered> answered_;
  PostedReceives<Receiving> posted_;
  UnexpectedMessages<IncomingOffer> unexpected_;

  bool helper_stops_ = false;
  std::condition_variable helper_wakes_;  // with the lock
  std::thread helper_;
};

// Runs a step of the operation's match. What it throws fails the operation and nothing else.
template <class Step>
void Matcher::attempt(Operation& operation, const std::shared_ptr<MatchJob>& job, Step&& step) {
  try {
    step();
  } catch (const std::exception& failure) {
    give_up(operation, *job, error_of(failure));
  }
}

}  // namespace penstock::core
