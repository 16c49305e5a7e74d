// SPDX-License-Identifier: Apache-2.0
// Matching: the handshake that pairs a send with its receive, once.
//
//   sender    Offer     -> receiver  what is sent, and what each transport needs for it
//   receiver  Answer    -> sender    the transport that it chose and that one's half; or a refusal
//   sender    Confirm   -> receiver  connected; or why not: the receiver tries the next transport
//   sender    Withdraw  -> receiver  the send has been given up: its offer must not be taken, and a
//                                    receive that has taken it is posted again
//   receiver  Withdrawn -> sender    no receive has the offer any more: what it held is free
//
// Letters between two processes keep their order, so offers arrive as the sender handed its
// requests to match. The receiver decides everything, as it alone can resolve wildcards. No request
// waits for a process that has ended: those that name it fail, and a wildcard receive takes another
// offer.
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
//   A receive without wildcards leaves an invitation (match_receiver_invitations.cpp):
//   receiver  Invite    -> sender    what each transport needs to complete both halves, and how
//                                    many receives wait before this one for sends of its envelope
//   sender    Accept    -> receiver  its half is complete, and what the receiver's needs
//   receiver  Revoke    -> sender    the receive, or one before it, has been given up
//   sender    Revoked   -> receiver  the invitation will not be accepted
//   Each invitation ends by one Accept or one Revoked, and only the sender decides. It finds the
//   send that the invitation is for by counting. The invitation says how many receives wait before
//   its own. The sends that the receiver did not know of when it wrote are those that have been
//   accepted since, and then those that are offered and not answered. The receives before take the
//   first of these, and the next one is the invited one, though it has been offered: the receiver
//   has kept that offer for the receive, or will, and does not answer it. If there is no such send
//   yet, the invitation waits for it. Where no transport has left enough, the invitation is
//   declined, and the send offered. No receive is invited behind one with a wildcard that could
//   take its message. Where a receive is given up, or posted again, all behind it are revoked, as
//   their places change, and where a send is withdrawn its sender declines by itself. Until an
//   invitation that is revoked has ended, only its sender knows which send it counts for: no
//   further receive of the envelope is invited, and answers wait for Confirm. An accepted send is
//   taken from whoever has its offer here, and an offer that was kept for nothing goes to the next
//   receive. What has been accepted for a receive that is gone is connected and closed.
//
// A collective is matched by a third party, the group of its members: match_group.hpp.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/settings.hpp"
#include "core/matching/match_group.hpp"
#include "core/matching/match_receiver.hpp"
#include "core/matching/match_sender.hpp"

namespace penstock::core {

class Matcher {
 public:
  Matcher(const base::Settings& settings, group::World& world, group::Mailbox& mailbox,
          Transports& transports);
  ~Matcher();

  // Checks all requests and sets them aside. Throws base::Error when one cannot be matched: then
  // nothing has changed.
  std::shared_ptr<MatchJob> prepare(std::vector<MatchedRequest*> requests);
  // Hands them to match. `job->on_finished` is set by now, if at all.
  void begin(const std::shared_ptr<MatchJob>& job);
  // Drives until the job is finished. Blocks. Throws the job's error.
  void finish(MatchJob& job);
  // One round, which is all there is to it without a match under way: reads letters, looks for dead
  // peers and passed deadlines. Never blocks. What goes wrong fails the requests that it
  // concerns: all under way where MPI brings no letters any more.
  void drive();
  // At the end of the library, which `call` (a name of an MPI or PST function) has begun: fails and
  // logs all that is under way, so that whoever waits for it hears of it. Never blocks.
  void give_up_matches(const std::string& call) noexcept;
  // Logs the sends of others that no receive here has taken, at the end of the library.
  void report_leftovers();
  // The end, collective and after give_up_matches(): returns when every process has brought all its
  // letters to where they go. No process reads letters inside MPI_Finalize, and an MPI whose queues
  // are full of them would not leave it. Ends early for PENSTOCK_TIMEOUT, and soon when a process
  // has died or MPI carries no letters to one.
  void end_together() noexcept;
  const PairCounts& pairs() const noexcept { return pairs_; }
  // A line for each match under way and each send of a peer that no receive takes, as long as they
  // are few; "" without any. From any thread, which does not wait for one that is held up inside a
  // match.
  std::string describe();

  // From now on a thread of ours drives the jobs that have `on_finished` (at MPI_THREAD_MULTIPLE),
  // whatever the program does. It sleeps while there are none. Throws base::Error(resources).
  void drive_from_own_thread();
  // Ends that thread: from now on requests may be deleted whose match has no outcome.
  void stop_driving() noexcept;

  static bool under_way() noexcept { return MatchJobs::under_way(); }

 private:
  using Time = MatchJobs::Time;

  void check(const MatchedRequest& request) const;
  void post(MatchedRequest& request, const std::shared_ptr<MatchJob>& job);
  void give_up(MatchedRequest& request, MatchJob& job, const base::Error& error);
  template <class Why>
  void give_up_where(Why&& why);
  template <class Step>
  void move_on(Step&& step) noexcept;

  void drive(std::unique_lock<std::mutex> lock);
  bool read_letters();
  void read(int rank, std::span<const std::byte> letter);
  void read(int rank, LetterKind kind, LetterReader& letter);
  void cannot_read(int rank, LetterKind kind, std::uint64_t id, const base::Error& error);
  void send_letters() noexcept;
  void look_for_lost_causes();
  void give_up_lost_causes(std::chrono::steady_clock::time_point now);
  std::optional<base::Error> lost_cause(const MatchedRequest& request, bool late) const;
  std::optional<base::Error> lost_with(int peer, const MatchedRequest& request) const;
  bool anybody_unreachable() const;
  void report_matches() const noexcept;
  std::string describe_matches() const;
  void help() noexcept;

  const base::Settings& settings_;
  group::World& world_;
  group::Mailbox& mailbox_;
  PairCounts pairs_;

  std::mutex mutex_;  // all below
  MatchLetters letters_;
  MatchJobs jobs_;
  MatchSender sender_;
  MatchReceiver receiver_;
  MatchGroup group_;
  Time next_look_{};  // for lost causes
  bool helper_stops_ = false;
  std::condition_variable helper_wakes_;  // with the lock
  std::thread helper_;
};

}  // namespace penstock::core
