// SPDX-License-Identifier: Apache-2.0
// The receiver's side of the handshake (matcher.hpp), which decides: it takes offers in MPI's
// order, answers them, and invites the senders of receives that leave. Guarded by the matcher's
// lock.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/matching/match_offers.hpp"
#include "core/matching/match_side.hpp"

namespace penstock::core {

class MatchReceiver final : public MatchSide {
 public:
  MatchReceiver(const MatchContext& context, int self) : MatchSide(context), self_(self) {}

  void post(MatchedRequest& request, const std::shared_ptr<MatchJob>& job);
  void read_offer(int rank, LetterReader& letter);
  void read_confirm(LetterReader& letter);
  void read_withdrawal(int rank, LetterReader& letter);
  void read_accept(int rank, LetterReader& letter);
  void read_revoked(LetterReader& letter);
  // End what such a letter is about, on both sides.
  void cannot_read_offer(int rank, std::uint64_t id, const base::Error& error);
  void cannot_read_confirm(std::uint64_t id, const base::Error& error);
  void cannot_read_accept(std::uint64_t id, const base::Error& error);

  // Behind all letters of a round: a later one may withdraw the offer, and the answer would already
  // have matched the receive.
  void answer_those_that_leave();
  bool has_offers_that_leave() const noexcept { return !to_answer_.empty(); }
  // Receives whose sender will not confirm any more take another offer; named ones have been given
  // up by now. What a sender that is still alive has been given stays.
  void leave_the_gone();
  // Of matches that are open, or that were given up and whose senders have yet to answer.
  bool holds_ends() const noexcept { return !answered_.empty() || !inviting_.empty(); }

  // Calls visit(envelope, bytes) for the sends of others that no receive here takes.
  template <class Visit>
  void for_each_unexpected(Visit&& visit) const {
    unexpected_.for_each([&](const Envelope& envelope, const IncomingOffer& offer) {
      visit(envelope, offer.message.bytes);
    });
  }

 private:
  struct Receiving {  // a receive that has been posted
    MatchedRequest* request = nullptr;
    std::shared_ptr<MatchJob> job;
    std::uint64_t number = 0;
    Id invitation = 0;  // none: 0, or one that is not in `inviting_` any more
  };
  struct IncomingOffer {  // a send of a peer, as its letter describes it
    int sender = -1;      // world rank
    Id id = 0;
    std::uint64_t number = 0;  // how early it has come
    Envelope envelope;
    transport::Message message;  // without buffer
    Contents contents;
    TheirOffers theirs;
    bool leaves = false;
  };
  struct OfferName {  // of a send of a peer's
    int sender = -1;
    Id id = 0;
    bool operator==(const OfferName&) const = default;
  };
  struct OfferNameHash {
    std::size_t operator()(const OfferName& name) const noexcept {
      return name.id * 0x9e3779b97f4a7c15u ^ static_cast<std::size_t>(name.sender);
    }
  };
  struct OfferPlace {
    enum class Where : std::uint8_t { unexpected, waiting, kept, answered };
    Where where;
    std::uint64_t number;  // there
  };
  using Where = OfferPlace::Where;
  struct Waiting {  // an answer, until all letters of a round have been read
    Receiving receiving;
    IncomingOffer offer;
  };
  struct Answered {  // a receive whose answer is on its way
    Receiving receiving;
    IncomingOffer offer;
    std::string transport;
    std::unique_ptr<transport::Acceptance> acceptance;
    std::vector<std::string> tried;
    Refusals refusals;  // the receiver's
    // Why the receive has been given up; `receiving` has no request then.
    std::optional<base::Error> abandoned;
  };
  struct Inviting {       // a receive that has left an invitation
    Receiving receiving;  // without request: it has been given up, or has taken an offer
    int sender = -1;      // world rank
    Envelope key{};
    OwnOffers own;
    bool revoking = false;
    std::optional<IncomingOffer> offer;  // of the send that will accept, if it has been offered
  };

  void withdraw(MatchedRequest& request, const base::Error& why) override;
  void give_up_receive(const Receiving& receiving, const base::Error& error);

  void take_offer_or_wait(Receiving receiving, bool again);
  std::optional<IncomingOffer> take_unexpected(const Envelope& key);
  void pair(Receiving receiving, IncomingOffer offer);
  // Whether the receive counts as matched as soon as its answer has been sent: one of the two
  // processes may not act again, so no Confirm can be expected.
  static bool one_leaves(const Receiving& receiving, const IncomingOffer& offer);
  // Each offer that is here is in one place, by which a withdrawal finds it.
  void hold(const IncomingOffer& offer, Where where, std::uint64_t number) {
    offers_.insert_or_assign({offer.sender, offer.id}, OfferPlace{where, number});
  }
  void let_go(const IncomingOffer& offer) noexcept { offers_.erase({offer.sender, offer.id}); }
  void leave_unexpected(IncomingOffer offer);
  void leave_with_invitation(Inviting& inviting, Id invitation, IncomingOffer& offer);
  void leave_waiting(Receiving& receiving, IncomingOffer& offer);
  std::unordered_map<Id, Answered>::iterator enter_answered(Id id, const Answered& answered);
  Answered leave_answered(std::unordered_map<Id, Answered>::iterator answered);
  void abandon(Answered& answered, const base::Error& why) noexcept;
  void answer(Answered answered);
  void send_answer(Answered& answered);
  bool accept_next(Answered& answered);
  void complete(Answered& answered);
  void refuse(const IncomingOffer& offer, MatchJob& job, const base::Error& error) noexcept;
  void drop_offer(int rank, Id id);
  void put_back(IncomingOffer offer);
  void tell_withdrawn(int rank, Id id);
  void leave_gone(Answered& answered);
  std::vector<std::pair<std::uint64_t, Id>> numbers_of_the_gone() const noexcept;
  Answered* first_of_the_gone();

  void invite(Receiving& receiving, const Envelope& key);
  bool may_invite(const Receiving& receiving, const Envelope& key) const;
  void write_invitation(Id id, const Inviting& inviting, std::size_t before);
  void revoke(Id id) noexcept;
  void revoke_behind(const Envelope& key, std::uint64_t number) noexcept;
  Inviting end_invitation(std::unordered_map<Id, Inviting>::iterator inviting);
  bool waits_to_end(Id invitation) const;
  void accept_invited(Inviting& inviting, const IncomingOffer& sent, const std::string& transport,
                      std::span<const std::byte> record);
  void fail_invited(const Receiving& receiving, base::ErrorKind kind, const std::string& why);

  int self_;  // our world rank
  PostedReceives<Receiving> posted_;
  UnexpectedMessages<IncomingOffer> unexpected_;
  std::unordered_map<OfferName, OfferPlace, OfferNameHash> offers_;
  std::map<Id, Waiting> to_answer_;  // by offers that leave; in the order in which they have come
  std::unordered_map<Id, Answered> answered_;
  EnvelopeCounts answering_;  // those whose receives have not been given up, by these
  std::unordered_map<Id, Inviting> inviting_;
  EnvelopeCounts kept_;                                  // invitations that keep an offer, by key
  EnvelopeCounts revoking_;                              // those that are being revoked, by key
  EnvelopeCounts invited_;                               // those that are not
  std::unordered_map<int, std::uint64_t> accepts_read_;  // by rank
};

}  // namespace penstock::core
