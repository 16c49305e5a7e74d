// SPDX-License-Identifier: Apache-2.0
// Receives that leave what their senders need to complete the match alone: see matcher.hpp.
#include <utility>

#include "base/log.hpp"
#include "core/matched_request.hpp"
#include "core/matching/match_receiver.hpp"
#include "core/message_of.hpp"

namespace penstock::core {

using base::Error;
using base::ErrorKind;
using transport::Message;

bool MatchReceiver::may_invite(const Receiving& receiving, const Envelope& key) const {
  if (!receiving.job->leaves || key.source == any_rank || key.tag == any_tag) return false;
  if (receiving.request->recording().channel) return false;  // all its units need an answer
  const int sender = receiving.request->recording().peer_world;
  if (sender == self_ || letters_.gone(sender)) return false;
  if (revoking_.count(key) != 0) return false;  // what its sender makes of those, only it knows
  // One that may be posted again would stand before this one, which is the latest of all.
  for (const Envelope& wider : {key, Envelope{key.communicator, any_rank, key.tag},
                                Envelope{key.communicator, key.source, any_tag},
                                Envelope{key.communicator, any_rank, any_tag}})
    if (answering_.count(wider) != 0) return false;
  return true;
}

// An invitation that cannot be made leaves an ordinary receive.
void MatchReceiver::invite(Receiving& receiving, const Envelope& key) {
  auto before = posted_.waiting_before(receiving.number, key);
  if (!before) return;
  if (const auto kept = kept_.find(key); kept != kept_.end()) *before += kept->second;
  const MatchedRequest& request = *receiving.request;
  const int sender = request.recording().peer_world;
  const Message message = message_of(request, sender);
  Inviting inviting;
  inviting.sender = sender;
  inviting.key = key;
  if (request.recording().refusal.empty())
    inviting.own = make_offers(transports_, message,
                               [&](transport::Transport& each) { return each.invite(message); });
  if (inviting.own.offers.empty()) return;
  const Id id = ++last_id_;
  receiving.invitation = id;
  inviting.receiving = receiving;
  const auto place = inviting_.emplace(id, std::move(inviting)).first;
  try {
    ++invited_[key];
    try {
      write_invitation(id, place->second, *before);
    } catch (...) {
      uncount(invited_, key);
      throw;
    }
  } catch (...) {
    inviting_.erase(place);
    throw;
  }
  receiving.request->match_place.invitation = id;
}

void MatchReceiver::write_invitation(Id id, const Inviting& inviting, std::size_t before) {
  const Recording& recording = inviting.receiving.request->recording();
  const Message message = message_of(*inviting.receiving.request, inviting.sender);
  LetterWriter letter;
  letter.value(LetterKind::invite).value(id).value(recording.communicator->id).value(recording.tag);
  letter.value(static_cast<std::uint64_t>(before)).value(accepts_read_[inviting.sender]);
  letter.value(message.memory);
  write_contents(letter, contents_of(recording, check_));
  write_offers(letter, inviting.own);
  letters_.write(inviting.sender, *inviting.receiving.job, letter);
}

void MatchReceiver::read_accept(int rank, LetterReader& letter) {
  ++accepts_read_[rank];
  const auto found = inviting_.find(letter.value<Id>());
  IncomingOffer sent;
  sent.sender = rank;
  sent.id = letter.value<Id>();
  sent.envelope.source = letter.value<int>();
  sent.envelope.tag = letter.value<int>();
  sent.message.bytes = letter.value<std::size_t>();
  const auto kind = letter.value<ErrorKind>();
  const std::string text = letter.text();  // the transport, or what has gone wrong
  const auto record = letter.bytes();
  sent.theirs.refusals = read_refusals(letter);
  if (found == inviting_.end() && letters_.gone(rank)) return;
  if (found == inviting_.end())
    throw Error(ErrorKind::internal, "it accepts an invitation that is not known here");
  Inviting inviting = end_invitation(found);
  const bool kept = inviting.offer && inviting.offer->id == sent.id;
  // The outcome comes first: the sender has its own, whatever there is no memory for here.
  if (inviting.receiving.request == nullptr) {
    if (kind == ErrorKind::none) inviting.own.offers.at(text)->connect(record)->close();
  } else if (kind == ErrorKind::none) {
    accept_invited(inviting, sent, text, record);
  } else {
    fail_invited(inviting.receiving, kind, text);
  }
  if (inviting.offer && !kept) put_back(std::move(*inviting.offer));
  if (sent.id == 0) return;
  if (!kept) drop_offer(rank, sent.id);
  tell_withdrawn(rank, sent.id);  // it had been offered
}

void MatchReceiver::accept_invited(Inviting& inviting, const IncomingOffer& sent,
                                   const std::string& transport,
                                   std::span<const std::byte> record) {
  MatchedRequest& request = *inviting.receiving.request;
  const auto job = inviting.receiving.job;
  posted_.withdraw(envelope_of(request.recording()), inviting.receiving.number);
  attempt(request, job, [&] {
    take_match(request, {sent.envelope.source, sent.envelope.tag, sent.message.bytes},
               inviting.own.offers.at(transport)->connect(record), transport, inviting.own.refusals,
               sent.theirs.refusals);
    jobs_.succeed(request, *job);
  });
}

void MatchReceiver::fail_invited(const Receiving& receiving, ErrorKind kind,
                                 const std::string& why) {
  MatchedRequest& request = *receiving.request;
  posted_.withdraw(envelope_of(request.recording()), receiving.number);
  jobs_.fail(request, *receiving.job,
             base::error_by(kind, [&] { return request.label() + ": " + why; }));
}

MatchReceiver::Inviting MatchReceiver::end_invitation(
    std::unordered_map<Id, Inviting>::iterator inviting) {
  Inviting ended = std::move(inviting->second);
  inviting_.erase(inviting);
  uncount(ended.revoking ? revoking_ : invited_, ended.key);
  if (ended.offer) {
    uncount(kept_, ended.key);
    let_go(*ended.offer);
  }
  return ended;
}

// ---- Those that will not be accepted

void MatchReceiver::revoke(Id id) noexcept {
  const auto found = inviting_.find(id);
  if (found == inviting_.end() || found->second.revoking) return;
  base::log::failures_in([&] {
    ++revoking_[found->second.key];
    uncount(invited_, found->second.key);
    found->second.revoking = true;
    LetterWriter letter;
    letter.value(LetterKind::revoke)
        .value(id)
        .value(found->second.key.communicator)
        .value(found->second.key.tag);
    if (!letters_.gone(found->second.sender)) letters_.send(found->second.sender, letter);
  });
}

// None is invited behind one that is being revoked.
void MatchReceiver::revoke_behind(const Envelope& key, std::uint64_t number) noexcept {
  if (invited_.count(key) == 0) return;
  posted_.for_each_behind(number, key, [&](const Receiving& receiving) {
    if (waits_to_end(receiving.invitation)) return false;
    revoke(receiving.invitation);
    return true;
  });
}

bool MatchReceiver::waits_to_end(Id invitation) const {
  const auto found = inviting_.find(invitation);
  return found != inviting_.end() && found->second.revoking;
}

// The receive is an ordinary one from now on, and answers the offer that it has kept.
void MatchReceiver::read_revoked(LetterReader& letter) {
  const auto found = inviting_.find(letter.value<Id>());
  if (found == inviting_.end()) return;
  Inviting inviting = end_invitation(found);
  if (!inviting.offer) return;
  if (inviting.receiving.request != nullptr)
    pair(std::move(inviting.receiving), std::move(*inviting.offer));
  else
    refuse(*inviting.offer, *inviting.receiving.job,
           Error(ErrorKind::not_matched, "the receive has been given up before it was matched"));
}

}  // namespace penstock::core
