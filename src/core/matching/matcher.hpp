// SPDX-License-Identifier: Apache-2.0
// Matching: the handshake that pairs a send with its receive, once.
//
//   sender    Offer     -> receiver  what is sent, and what each transport needs for it
//   receiver  Answer    -> sender    the transport that it chose and that one's half; or a refusal
//   sender    Confirm   -> receiver  connected; or why not: the receiver tries the next transport
//   sender    Withdraw  -> receiver  the send has been given up: its offer must not be taken, and a
//                                    receive that has taken it is posted again
//   receiver  Withdrawn -> sender    nobody here knows the offer any more: what it held is free
//
// Letters between two processes keep their order, so offers arrive as the sender handed its
// requests to match. The receiver decides everything, as it alone can resolve wildcards. Nobody
// waits for a process that has ended: named requests fail, a wildcard receive takes another offer.
//
// A process may return from PST_Imatch and then block inside MPI, in a barrier for instance. Below
// MPI_THREAD_MULTIPLE it reads no letters meanwhile, and its peer must still be able to match. So
// such a half *leaves* with the peer all that the peer needs to complete the match alone:
//
//   A send's offer says that it leaves. Where it or the receive does, a receive that names its
//   sender counts as matched when its answer has left, without Confirm, if the transport cannot
//   fail to connect (Acceptance::needs_confirmation). It cannot be posted again then, so that those
//   behind it may be invited. The answers of one poll wait until all its letters have been read: a
//   withdrawal may be among them. A sender that withdraws keeps what it has offered until Withdrawn
//   comes: if an answer comes before, the receiver is matched, and the half is connected and closed
//   at once, so that the receiver hears of it.
//
//   A receive without wildcards leaves an invitation (matcher_invitations.cpp):
//   receiver  Invite    -> sender    what each transport needs to complete both halves, and how
//                                    many receives wait before this one for sends of its envelope
//   sender    Accept    -> receiver  its half is complete, and what the receiver's needs
//   receiver  Revoke    -> sender    the receive, or one before it, has been given up
//   sender    Revoked   -> receiver  the invitation will not be accepted
//   Each invitation ends by one Accept or one Revoked, and only the sender decides. It finds the
//   send that the invitation is for by counting. The invitation says how many receives wait before
//   its own. The sends that the receiver did not know of when it wrote are those that have been
//   accepted since, and then those that are offered and not answered: the receives before take the
//   first of these, and the next one is the invited one, though it has been offered; the receiver
//   has kept that offer for the receive, or will, and does not answer it. If there is no such send
//   yet, the invitation waits for it. Where no transport has left enough, the invitation is
//   declined, and the send offered. No receive is invited behind one with a wildcard that could
//   take its message. Where a receive is given up, or posted again, all behind it are revoked, as
//   their places change, and where a send is withdrawn its sender declines by itself. Until an
//   invitation that is revoked has ended, only its sender knows which send it counts for: no
//   further receive of the envelope is invited, and answers wait for Confirm. An accepted send is
//   taken from whoever has its offer here, and an offer that was kept for nothing goes to the next
//   receive. What has been accepted for a receive that is gone is connected and closed.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/matching/match_job.hpp"
#include "core/matching/match_order.hpp"
#include "core/pair_counts.hpp"
#include "core/transports.hpp"
#include "group/mailbox.hpp"
#include "group/world.hpp"

namespace penstock::core {

class LetterReader;
class LetterWriter;
enum class LetterKind : std::uint8_t;

class Matcher {
 public:
  Matcher(const base::Settings& settings, group::World& world, group::Mailbox& mailbox,
          Transports& transports);
  ~Matcher();

  // Checks all operations and sets them aside. Throws base::Error when one cannot be matched: then
  // nothing has changed.
  std::shared_ptr<MatchJob> prepare(std::vector<MatchedRequest*> operations);
  // Hands them to match. `job->on_finished` is set by now, if at all.
  void begin(const std::shared_ptr<MatchJob>& job);
  // Drives until the job is finished. Blocks. Throws the job's error.
  void finish(MatchJob& job);
  // One round, which is all there is to it without a match under way: reads letters, looks for dead
  // peers and passed deadlines. Never blocks. What goes wrong fails the operations that it
  // concerns: all under way where MPI brings no letters any more.
  void drive();
  // At the end of the library, which `call` (a name of an MPI or PST function) has begun: fails and
  // logs all that is under way, so that whoever waits for it hears of it. Blocks for nobody.
  void give_up_matches(const std::string& call) noexcept;
  // Logs the sends of others that nobody here has received. At the end of the library.
  void report_leftovers();
  // The end, collective and after give_up_matches(): returns when every process has brought all its
  // letters to where they go, as nobody reads letters inside MPI_Finalize, and an MPI whose queues
  // are full of them would not leave it. Ends early for PENSTOCK_TIMEOUT, and soon when a process
  // has died or MPI carries no letters to one.
  void part() noexcept;
  const PairCounts& pairs() const noexcept { return pairs_; }
  // A line for each match under way and each send of a peer that no receive takes, as long as they
  // are few; "" without any. From any thread, which does not wait for one that is held up inside a
  // match.
  std::string describe();

  // From now on a thread of ours drives the jobs that have `on_finished` (at MPI_THREAD_MULTIPLE),
  // whatever the program does. It sleeps while there are none. Throws base::Error(resources).
  void drive_from_own_thread();
  // Ends that thread: from now on operations may be deleted whose match has no outcome.
  void stop_driving() noexcept;

  static bool under_way() noexcept { return jobs_under_way.load(std::memory_order_relaxed) != 0; }

 private:
  using Id = std::uint64_t;

  using Refusals =
      std::vector<std::pair<std::string, std::string>>;  // transport, and why it does not serve

  using Offers = std::map<std::string, std::unique_ptr<transport::Offer>>;  // by transport
  using WireRecords = std::map<std::string, transport::WireRecord>;         // the same

  using Counts = std::unordered_map<Envelope, std::size_t, EnvelopeHash>;  // none is 0

  struct Sending {              // a send between its offer and its outcome
    MatchedRequest* operation;  // null: withdrawn, until the receiver says that it knows
    std::shared_ptr<MatchJob> job;
    Offers offers;
    Refusals refusals;
    Envelope lane{};          // see lane_of()
    bool unanswered = false;  // in `unanswered_`
    bool withdrawn = false;   // counted in `withdrawn_`
  };
  struct Receiving {  // a receive that has been posted
    MatchedRequest* operation = nullptr;
    std::shared_ptr<MatchJob> job;
    std::uint64_t number = 0;
    Id invitation = 0;  // none: 0, or one that is not in `inviting_` any more
    bool operator==(const Receiving& other) const noexcept { return operation == other.operation; }
  };
  struct IncomingOffer {  // a send of a peer, as its letter describes it
    int sender = -1;      // world rank
    Id id = 0;
    std::uint64_t number = 0;  // how early it has come
    Envelope envelope;
    transport::Message message;  // without buffer
    WireRecords records;
    Refusals refusals;  // the sender's
    bool leaves = false;
  };
  struct Answered {  // a receive whose answer is on its way
    Receiving receiving;
    IncomingOffer offer;
    std::string transport;
    std::unique_ptr<transport::Acceptance> acceptance;
    std::vector<std::string> tried;
    Refusals refusals;  // the receiver's
    std::optional<base::Error>
        abandoned;  // why the receive has been given up; `receiving` has no operation then
  };
  struct Inviting {       // a receive that has left an invitation
    Receiving receiving;  // without operation: it has been given up, or has taken an offer
    int sender = -1;      // world rank
    Envelope key{};
    Offers offers;
    Refusals refusals;
    bool revoking = false;
    std::optional<IncomingOffer> offer;  // of the send that will accept, if it has been offered
  };
  struct Invitation {  // at the sender
    Id id = 0;
    std::size_t due = 0;         // sends of its lane that come before the one it is for
    transport::Message message;  // the receive, without buffer
    WireRecords records;
    Refusals refusals;  // the receiver's
  };
  struct Accepting {                                    // an invitation
    std::unique_ptr<transport::Acceptance> acceptance;  // none: the send is too long
    std::string text;                                   // the transport, or what is wrong
    Refusals refusals;
  };
  struct Accepted {              // to one rank
    std::uint64_t known = 0;     // of how many the receiver knows
    std::deque<Envelope> lanes;  // of those that it may not know of
    Counts by_lane;              // the same
  };

  void check(const MatchedRequest& operation) const;
  void post(MatchedRequest& operation, const std::shared_ptr<MatchJob>& job);
  void post_send(MatchedRequest& operation, const std::shared_ptr<MatchJob>& job);
  void post_receive(MatchedRequest& operation, const std::shared_ptr<MatchJob>& job);

  void read(int rank, std::span<const std::byte> letter);
  void read_offer(int rank, LetterReader& letter);
  void read_answer(LetterReader& letter);
  void read_confirm(LetterReader& letter);
  void read_withdrawal(int rank, LetterReader& letter);
  void read_withdrawn(LetterReader& letter);
  void read_invite(int rank, LetterReader& letter);
  void read_accept(int rank, LetterReader& letter);
  void read_revoke(int rank, LetterReader& letter);
  void read_revoked(LetterReader& letter);
  void cannot_read(int rank, LetterKind kind, Id id, const base::Error& error);
  void write(int rank, MatchJob& job, LetterWriter& letter);
  void send_withdrawal(const Sending& sending, Id id) noexcept;
  bool read_letters();
  void send_letters() noexcept;
  void drive(std::unique_lock<std::mutex> lock);
  // Nothing after give_up_matches(): who has parted reads no answers.
  std::uint64_t send(int rank, group::Mailbox::Letter letter) {
    return silent_ ? 0 : mailbox_.send(rank, std::move(letter));
  }

  void take_offer_or_wait(Receiving receiving, bool again);
  std::optional<IncomingOffer> take_unexpected(const Envelope& key);
  void pair(Receiving receiving, IncomingOffer offer);
  void answer_those_that_leave();
  void answer(Answered answered);
  void send_answer(Answered& answered);
  void complete(Answered& answered);
  bool accept_next(Answered& answered);
  void refuse(const IncomingOffer& offer, MatchJob& job, const base::Error& error) noexcept;
  bool connect(Sending& sending, Id receiver_id, LetterReader& answer);
  void close_unwanted(Sending& sending, LetterReader& answer) noexcept;
  void note_answer(Id id, Sending& sending);
  void drop_offer(int rank, Id id);
  void tell_withdrawn(int rank, Id id);
  void put_back(IncomingOffer offer);
  void enter(Id id, Sending sending);
  void count_withdrawn(Sending& sending) noexcept;
  void forget(std::unordered_map<Id, Sending>::iterator sending);

  void invite(Receiving& receiving, const Envelope& key);
  bool may_invite(const Receiving& receiving, const Envelope& key) const;
  void write_invitation(Id id, const Inviting& inviting, std::size_t before);
  void revoke(Id id) noexcept;
  void revoke_behind(const Envelope& key, std::uint64_t number) noexcept;
  std::optional<Invitation> take_invitation(const Envelope& lane);
  void decline_from(const Envelope& lane, std::size_t place);
  std::optional<Accepting> write_accept(MatchedRequest& operation, MatchJob& job,
                                        const Invitation& invitation, Id offered);
  bool accept_invitation(MatchedRequest& operation, const std::shared_ptr<MatchJob>& job,
                         const Invitation& invitation, Id offered);
  void decline(int rank, Id invitation) noexcept;
  Inviting end_invitation(std::unordered_map<Id, Inviting>::iterator inviting);
  std::unique_ptr<transport::Acceptance> accept_as_invited(const transport::Message& send,
                                                           const Invitation& invitation,
                                                           std::string& transport,
                                                           Refusals& refusals);
  void accept_invited(Inviting& inviting, const IncomingOffer& sent, const std::string& transport,
                      std::span<const std::byte> record);
  void fail_invited(const Receiving& receiving, base::ErrorKind kind, const std::string& why);

  template <class Step>
  void attempt(MatchedRequest& operation, const std::shared_ptr<MatchJob>& job, Step&& step);
  void succeed(MatchedRequest& operation, MatchJob& job);
  void fail(MatchedRequest& operation, MatchJob& job, const base::Error& error);
  void give_up(MatchedRequest& operation, MatchJob& job, const base::Error& error);
  template <class Why>
  void give_up_where(Why&& why);
  template <class Step>
  void move_on(Step&& step) noexcept;
  void settle(MatchJob& job);
  void end_settled_jobs();
  void withdraw(MatchedRequest& operation, const base::Error& why);
  bool dead(int rank) const;
  bool gone(int rank) const;
  std::string describe_matches() const;
  std::optional<base::Error> lost_cause(const MatchedRequest& operation, bool late) const;
  void look_for_lost_causes();
  void report_matches() const noexcept;
  void look_for_dead_senders();
  Answered* first_of_the_gone();
  bool anybody_unreachable() const;
  void note_pair(const transport::Plan& plan, const std::string& transport, const Refusals& mine,
                 const Refusals& theirs);
  void help() noexcept;

  static Envelope envelope_of(const Recording& recording);
  // Sends of one envelope to one process, named by its world rank.
  static Envelope lane_of(const group::CommunicatorId& communicator, int rank, int tag) {
    return {communicator, rank, tag};
  }
  static void uncount(Counts& counts, const Envelope& key) noexcept {
    if (const auto found = counts.find(key); found != counts.end() && --found->second == 0)
      counts.erase(found);
  }
  // Whether the receive counts as matched as soon as its answer has been sent: one of the two
  // processes may not act again, so no Confirm can be expected.
  static bool one_leaves(const Receiving& receiving, const IncomingOffer& offer);
  static std::string text_of(const Refusals& refusals);
  static void write_refusals(LetterWriter& letter, const Refusals& refusals);
  static Refusals read_refusals(LetterReader& letter);
  static base::Error error_of(const std::exception& failure) noexcept;

  static std::atomic<int> jobs_under_way;

  const base::Settings& settings_;
  group::World& world_;
  group::Mailbox& mailbox_;
  Transports& transports_;
  PairCounts pairs_;

  std::mutex mutex_;                                   // all below
  std::chrono::steady_clock::time_point next_look_{};  // for lost causes
  Id last_id_ = 0;
  // A job goes from list to list, which needs no memory: what has begun comes to its end.
  std::list<std::shared_ptr<MatchJob>> jobs_;
  std::list<std::shared_ptr<MatchJob>>
      settled_;  // every operation has its outcome, letters may be unsent
  std::list<std::shared_ptr<MatchJob>> finished_;  // on_finished is to be called, without the lock
  bool silent_ = false;                            // what is to be said has been said
  bool ending_ = false;                            // nobody waits for letters to leave
  std::unordered_map<Id, Sending> sending_;
  std::unordered_map<const MatchedRequest*, Id> sending_ids_;  // those that have not been withdrawn
  std::unordered_map<Id, Answered> answered_;
  PostedReceives<Receiving> posted_;
  UnexpectedMessages<IncomingOffer> unexpected_;
  std::deque<std::pair<Receiving, IncomingOffer>> to_answer_;  // by offers that leave
  std::map<int, std::string> unreadable_;  // ranks whose letters mean nothing any more, and why

  // Receives and sends that leave
  std::unordered_map<Id, Inviting> inviting_;
  std::unordered_map<Envelope, std::deque<Invitation>, EnvelopeHash>
      invitations_;  // by lane; none is empty
  std::unordered_map<Envelope, std::deque<Id>, EnvelopeHash>
      unanswered_;    // offers by lane; none is empty
  Counts kept_;       // invitations that keep an offer, by key
  Counts revoking_;   // invitations that are being revoked, by key
  Counts withdrawn_;  // offers that have been withdrawn and that the receiver may know of, by lane
  std::unordered_map<int, Accepted> accepted_;           // by rank
  std::unordered_map<int, std::uint64_t> accepts_read_;  // by rank
  std::size_t unattended_ = 0;                           // jobs that PST_Imatch has begun

  bool helper_stops_ = false;
  std::condition_variable helper_wakes_;  // with the lock
  std::thread helper_;
};

// Runs a step of the operation's match. What it throws fails the operation and nothing else.
template <class Step>
void Matcher::attempt(MatchedRequest& operation, const std::shared_ptr<MatchJob>& job,
                      Step&& step) {
  try {
    step();
  } catch (const std::exception& failure) {
    give_up(operation, *job, error_of(failure));
  }
}

}  // namespace penstock::core
