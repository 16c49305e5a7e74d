// SPDX-License-Identifier: Apache-2.0
// The sender's side of the handshake (matcher.hpp): offers, and the invitations of receives that
// leave. Guarded by the matcher's lock.
#pragma once

#include <deque>
#include <optional>
#include <unordered_map>

#include "core/matching/match_offers.hpp"
#include "core/matching/match_side.hpp"

namespace penstock::core {

// What this process's sends are told apart by: those of one key wait in one order.
struct SendKey {
  group::CommunicatorId communicator;
  int receiver = null_rank;  // its rank in MPI_COMM_WORLD
  int tag = any_tag;
  bool operator==(const SendKey&) const = default;
};

struct SendKeyHash {
  std::size_t operator()(const SendKey& key) const noexcept {
    return hash_of(key.communicator, key.receiver, key.tag);
  }
};

using SendKeyCounts = std::unordered_map<SendKey, std::size_t, SendKeyHash>;  // none is 0

class MatchSender final : public MatchSide {
 public:
  explicit MatchSender(const MatchContext& context) : MatchSide(context) {}

  void post(MatchedRequest& request, const std::shared_ptr<MatchJob>& job);
  void read_answer(LetterReader& letter);
  void read_withdrawn(LetterReader& letter);
  void read_invite(int rank, LetterReader& letter);
  void read_revoke(int rank, LetterReader& letter);
  // Ends what such a letter is about, on both sides.
  void cannot_read_answer(std::uint64_t id, const base::Error& error);
  void cannot_read_invite(int rank, std::uint64_t id) { decline(rank, id); }
  // Nothing that has been offered to a dead process is kept for it.
  void forget_the_dead();
  // Of matches that are open, or that were given up and whose receivers have yet to answer.
  bool holds_ends() const noexcept { return !sending_.empty(); }

 private:
  struct Sending {            // a send between its offer and its outcome
    MatchedRequest* request;  // null: withdrawn, until the receiver says that it knows
    std::shared_ptr<MatchJob> job;
    OwnOffers own;
    SendKey key{};
    bool unanswered = false;  // in `unanswered_`
    bool withdrawn = false;   // counted in `withdrawn_`
  };
  struct Invitation {
    Id id = 0;
    std::uint64_t due = 0;       // the number of sends that come before the one it is for
    transport::Message message;  // the receive, without buffer
    Contents contents;
    TheirOffers theirs;
  };
  struct Invitations {        // of one key, in their order
    std::uint64_t sends = 0;  // that have been posted since the first of them came
    std::deque<Invitation> waiting;
    bool empty() const noexcept { return waiting.empty(); }
  };
  struct Accepting {                                    // an invitation
    std::unique_ptr<transport::Acceptance> acceptance;  // none: the send does not fit
    std::optional<base::Error> misfit;                  // why
    std::string text;                                   // the transport
    Refusals refusals;
  };
  struct Accepted {            // to one rank
    std::uint64_t known = 0;   // of how many the receiver knows
    std::deque<SendKey> keys;  // of those that it may not know of
    SendKeyCounts by_key;      // the same
  };

  static SendKey key_of(const Recording& recording) {
    return {recording.communicator->id, recording.peer_world, recording.tag};
  }

  void withdraw(MatchedRequest& request, const base::Error& why) override;
  void send_withdrawal(const Sending& sending, Id id) noexcept;
  void count_withdrawn(Sending& sending) noexcept;

  void enter(Id id, Sending sending);
  static std::deque<Id>::iterator place_of(std::deque<Id>& queue, Id id);
  void forget(std::unordered_map<Id, Sending>::iterator sending);
  void note_answer(Id id, Sending& sending);
  bool connect(Sending& sending, Id receiver_id, LetterReader& answer);
  void close_unwanted(Sending& sending, LetterReader& answer) noexcept;

  std::optional<Invitation> take_invitation(const SendKey& key);
  std::unique_ptr<transport::Acceptance> accept_as_invited(const transport::Message& send,
                                                           const Invitation& invitation,
                                                           std::string& transport,
                                                           Refusals& refusals);
  std::optional<Accepting> write_accept(MatchedRequest& request, MatchJob& job,
                                        const Invitation& invitation, Id offered);
  bool accept_invitation(MatchedRequest& request, const std::shared_ptr<MatchJob>& job,
                         const Invitation& invitation, Id offered);
  void decline(int rank, Id invitation) noexcept;
  void decline_from(const SendKey& key, std::size_t place);

  std::unordered_map<Id, Sending> sending_;
  // Offers, in their order; no queue is empty.
  std::unordered_map<SendKey, std::deque<Id>, SendKeyHash> unanswered_;
  SendKeyCounts withdrawn_;  // offers that have been withdrawn and that the receiver may know of
  std::unordered_map<SendKey, Invitations, SendKeyHash> invitations_;  // none is empty
  std::unordered_map<int, Accepted> accepted_;                         // by rank
};

}  // namespace penstock::core
