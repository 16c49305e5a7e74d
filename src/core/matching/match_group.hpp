// SPDX-License-Identifier: Apache-2.0
// The match of a collective: an agreement of all members, in four letters a member.
//
//   member    Join     -> member 0   what it brings
//   member 0  Choice   -> member     how the collective is carried out, when all have joined
//   member    Ready    -> member 0   its messages to others are matched, or why not
//   member 0  Choice   -> member     another one, if it cannot be carried out; or
//   member 0  Verdict  -> member     all are ready; or the one reason why it fails on all
//   member    Leave    -> member 0   it has given up: so do all
//
// Between Choice and Ready the messages of the collective are matched as any others are, under a
// communicator of their own. Member 0 is a member, too, and writes to itself. Guarded by the
// matcher's lock.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/collective.hpp"
#include "core/matching/match_receiver.hpp"
#include "core/matching/match_sender.hpp"
#include "core/matching/match_side.hpp"

namespace penstock::core {

class MatchGroup final : public MatchSide {
 public:
  MatchGroup(const MatchContext& context, MatchSender& sender, MatchReceiver& receiver)
      : MatchSide(context), sender_(sender), receiver_(receiver) {}

  void post(MatchedRequest& request, const std::shared_ptr<MatchJob>& job);
  void read_join(int rank, LetterReader& letter);
  void read_choice(LetterReader& letter);
  void read_ready(int rank, LetterReader& letter);
  void read_verdict(LetterReader& letter);
  void read_leave(int rank, LetterReader& letter);
  // Ends what such a letter is about, on all members.
  void cannot_read(int rank, LetterKind kind, std::uint64_t id, const base::Error& error);
  // Members whose messages have all been matched, or have failed, say so.
  void advance();
  // "rank 2, 3", who have not joined, where that can be known here.
  std::string missing(const MatchedRequest& request) const;

 private:
  using Key = group::CommunicatorId;

  struct Member {
    MatchedRequest* request = nullptr;
    std::shared_ptr<MatchJob> job;
    std::unique_ptr<CollectiveOffer> offer;
    bool joined = false;                   // it has said so
    std::uint32_t choice_number = 0;       // of the newest one
    std::unique_ptr<CollectivePart> part;  // of that one
    std::vector<std::unique_ptr<MatchedRequest>> messages;
    std::shared_ptr<MatchJob> matching;                  // of the messages
    std::vector<std::unique_ptr<transport::Plan>> ends;  // of the messages, until the plan has them
    bool told_ready = false;                             // that it is ready
    bool agreed = false;                                 // all are
    std::optional<base::Error> why_left;                 // its messages are still to be given up

    // When it had told that it is ready, and left: if the others have agreed, they use what it has
    // shared with them; else they never will.
    bool waits_for_verdict() const noexcept { return told_ready && !agreed && part; }
  };
  struct Seat {
    int process = -1;            // world rank; -1: it has not joined
    Id id = 0;                   // the member's number for it
    transport::WireRecord told;  // until the first choice
  };
  struct Table {
    std::vector<Seat> seats;                  // by rank
    std::vector<transport::WireRecord> told;  // by rank, since the first choice
    std::size_t joined = 0, ready = 0;
    std::uint32_t choice_number = 0;  // of the newest one
    transport::WireRecord choice;     // the newest one
  };
  using Members = std::map<Id, Member>;

  void withdraw(MatchedRequest& request, const base::Error& why) override;

  void tell_first(const Member& member, Id id, LetterKind kind, const base::Error& error);
  Table* find_table(int rank, const Key& key, std::size_t member);
  void choose(const Key& key, Table& table, const base::Error* failed);
  void conclude(const Key& key, const base::Error& error);
  void prepare(Member& member, const transport::WireRecord& choice);
  void match_messages(Member& member);
  void post_message(MatchedRequest& message, const std::shared_ptr<MatchJob>& job);
  void end_messages(Member& member, const base::Error& why);
  void complete(Members::iterator place);
  Members::iterator find(const MatchedRequest& request);

  MatchSender& sender_;
  MatchReceiver& receiver_;
  Members members_;  // of this process, by their own numbers
  // Those that have given up. Their messages are given up in turn, but not in withdraw(): giving up
  // a request may give no other an outcome, nor take memory.
  Members leaving_;
  std::map<Key, Table> tables_;  // of groups whose member 0 is this process
};

}  // namespace penstock::core
