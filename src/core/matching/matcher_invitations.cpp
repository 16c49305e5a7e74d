// SPDX-License-Identifier: Apache-2.0
// Receives that leave what their senders need to complete the match alone: see matcher.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "core/matched_request.hpp"
#include "core/matching/letter.hpp"
#include "core/matching/matcher.hpp"
#include "core/message_of.hpp"

namespace penstock::core {

using base::Error;
using base::ErrorKind;
using transport::Message;
using transport::Verdict;

// ---- The receiver's side

bool Matcher::may_invite(const Receiving& receiving, const Envelope& key) const {
  if (!receiving.job->leaves || key.source == any_rank || key.tag == any_tag) return false;
  const int sender = receiving.operation->recording().peer_world;
  if (sender == world_.rank() || gone(sender)) return false;
  if (revoking_.count(key) != 0) return false;  // what its sender makes of those, only it knows
  // One that may be posted again would stand before this one.
  const auto in_the_way = [&](const auto& entry) {
    return entry.second.receiving.operation != nullptr &&
           entry.second.receiving.number < receiving.number &&
           envelope_of(entry.second.receiving.operation->recording()).accepts(key);
  };
  return std::none_of(answered_.begin(), answered_.end(), in_the_way);
}

// An invitation that cannot be made leaves an ordinary receive.
void Matcher::invite(Receiving& receiving, const Envelope& key) {
  auto before = posted_.waiting_before(receiving.number, key);
  if (!before) return;
  if (const auto kept = kept_.find(key); kept != kept_.end()) *before += kept->second;
  const MatchedRequest& operation = *receiving.operation;
  const int sender = operation.recording().peer_world;
  const Message message = message_of(operation, sender);
  Inviting inviting;
  inviting.sender = sender;
  inviting.key = key;
  for (const Transports::Entry& entry : transports_.entries()) {
    const std::string name = entry.transport->name();
    try {
      const Verdict verdict = Transports::judge(entry, message);
      if (!verdict.yes)
        inviting.refusals.emplace_back(name, verdict.why);
      else if (auto offer = entry.transport->invite(message))
        inviting.offers.emplace(name, std::move(offer));
    } catch (const std::exception& failure) {
      inviting.refusals.emplace_back(name, error_of(failure).text());
    }
  }
  if (inviting.offers.empty()) return;
  const Id id = ++last_id_;
  receiving.invitation = id;
  inviting.receiving = receiving;
  const auto place = inviting_.emplace(id, std::move(inviting)).first;
  try {
    write_invitation(id, place->second, *before);
  } catch (...) {
    inviting_.erase(place);
    throw;
  }
}

void Matcher::write_invitation(Id id, const Inviting& inviting, std::size_t before) {
  const Recording& recording = inviting.receiving.operation->recording();
  const Message message = message_of(*inviting.receiving.operation, inviting.sender);
  LetterWriter letter;
  letter.value(LetterKind::invite).value(id).value(recording.communicator->id).value(recording.tag);
  letter.value(static_cast<std::uint64_t>(before)).value(accepts_read_[inviting.sender]);
  letter.value(message.bytes).value(message.memory);
  write_refusals(letter, inviting.refusals);
  letter.value(static_cast<std::uint32_t>(inviting.offers.size()));
  for (const auto& [name, offer] : inviting.offers) letter.text(name).bytes(offer->record());
  write(inviting.sender, *inviting.receiving.job, letter);
}

Matcher::Inviting Matcher::end_invitation(std::unordered_map<Id, Inviting>::iterator inviting) {
  Inviting ended = std::move(inviting->second);
  inviting_.erase(inviting);
  if (ended.revoking) uncount(revoking_, ended.key);
  if (ended.offer) uncount(kept_, ended.key);
  return ended;
}

void Matcher::revoke(Id id) noexcept {
  const auto found = inviting_.find(id);
  if (found == inviting_.end() || found->second.revoking) return;
  try {
    ++revoking_[found->second.key];
    found->second.revoking = true;
    LetterWriter letter;
    letter.value(LetterKind::revoke)
        .value(id)
        .value(found->second.key.communicator)
        .value(found->second.key.tag);
    if (!gone(found->second.sender)) send(found->second.sender, letter.take());
  } catch (const std::exception& failure) {
    base::log::error(failure.what());
  }
}

void Matcher::revoke_behind(const Envelope& key, std::uint64_t number) noexcept {
  posted_.for_each_behind(number, key,
                          [&](const Receiving& receiving) { revoke(receiving.invitation); });
}

// The receive is an ordinary one from now on, and answers the offer that it has kept.
void Matcher::read_revoked(LetterReader& letter) {
  const auto found = inviting_.find(letter.value<Id>());
  if (found == inviting_.end()) return;
  Inviting inviting = end_invitation(found);
  if (!inviting.offer) return;
  if (inviting.receiving.operation != nullptr)
    pair(std::move(inviting.receiving), std::move(*inviting.offer));
  else
    refuse(*inviting.offer, *inviting.receiving.job,
           Error(ErrorKind::not_matched, "the receive has been given up before it was matched"));
}

void Matcher::read_accept(int rank, LetterReader& letter) {
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
  sent.refusals = read_refusals(letter);
  if (found == inviting_.end() && gone(rank)) return;
  if (found == inviting_.end())
    throw Error(ErrorKind::internal, "it accepts an invitation that is not known here");
  Inviting inviting = end_invitation(found);
  const bool kept = inviting.offer && inviting.offer->id == sent.id;
  // The outcome comes first: the sender has its own, whatever there is no memory for here.
  if (inviting.receiving.operation == nullptr) {
    if (kind == ErrorKind::none) inviting.offers.at(text)->connect(record)->close();
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

void Matcher::fail_invited(const Receiving& receiving, ErrorKind kind, const std::string& why) {
  MatchedRequest& operation = *receiving.operation;
  posted_.withdraw(envelope_of(operation.recording()), receiving);
  fail(operation, *receiving.job,
       base::error_by(kind, [&] { return operation.label() + ": " + why; }));
}

void Matcher::accept_invited(Inviting& inviting, const IncomingOffer& sent,
                             const std::string& transport, std::span<const std::byte> record) {
  MatchedRequest& operation = *inviting.receiving.operation;
  const auto job = inviting.receiving.job;
  posted_.withdraw(envelope_of(operation.recording()), inviting.receiving);
  attempt(operation, job, [&] {
    auto plan = inviting.offers.at(transport)->connect(record);
    const transport::Plan& path = *plan;
    operation.take_match({sent.envelope.source, sent.envelope.tag, sent.message.bytes},
                         std::move(plan), transport);
    note_pair(path, transport, inviting.refusals, sent.refusals);
    succeed(operation, *job);
  });
}

// ---- The sender's side

void Matcher::read_invite(int rank, LetterReader& letter) {
  if (gone(rank)) return;
  Invitation invitation;
  invitation.id = letter.value<Id>();
  const auto communicator = letter.value<group::CommunicatorId>();
  const Envelope lane = lane_of(communicator, rank, letter.value<int>());
  const auto before = letter.value<std::uint64_t>();
  const auto accepts_read = letter.value<std::uint64_t>();
  invitation.message.direction = transport::Direction::receive;
  invitation.message.bytes = letter.value<std::size_t>();
  invitation.message.memory = letter.value<transport::MemoryKind>();
  invitation.message.peer = rank;
  invitation.refusals = read_refusals(letter);
  for (auto count = letter.value<std::uint32_t>(); count > 0; --count) {
    std::string name = letter.text();
    const auto record = letter.bytes();
    invitation.records.emplace(std::move(name),
                               transport::WireRecord(record.begin(), record.end()));
  }
  Accepted& accepted = accepted_[rank];
  for (; accepted.known < accepts_read && !accepted.lanes.empty(); ++accepted.known) {
    uncount(accepted.by_lane, accepted.lanes.front());
    accepted.lanes.pop_front();
  }
  const auto ahead = accepted.by_lane.find(lane);
  const std::size_t accepted_ahead = ahead == accepted.by_lane.end() ? 0 : ahead->second;
  const auto unanswered = unanswered_.find(lane);
  const std::size_t offered = unanswered == unanswered_.end() ? 0 : unanswered->second.size();
  // Among the offers, or beyond.
  const std::size_t place = before - std::min<std::size_t>(before, accepted_ahead);
  // See count_withdrawn().
  if (withdrawn_.count(lane) != 0) return decline(rank, invitation.id);
  if (place >= offered) {
    invitation.due = place - offered;
    put_in_queue(invitations_, lane, [&](auto& queue) { queue.push_back(std::move(invitation)); });
    return;
  }
  const Id id = unanswered->second[place];
  Sending& sending = sending_.at(id);
  if (sending.operation == nullptr) return decline(rank, invitation.id);
  const auto job = sending.job;
  MatchedRequest& operation = *sending.operation;
  attempt(operation, job, [&] { accept_invitation(operation, job, invitation, id); });
}

void Matcher::decline(int rank, Id invitation) noexcept {
  try {
    LetterWriter letter;
    letter.value(LetterKind::revoked).value(invitation);
    send(rank, letter.take());
  } catch (const std::exception& failure) {
    base::log::error(failure.what());
  }
}

// An invitation that is not known here has been accepted or declined already, and that letter is
// the receiver's answer.
void Matcher::read_revoke(int rank, LetterReader& letter) {
  const auto id = letter.value<Id>();
  const auto communicator = letter.value<group::CommunicatorId>();
  const Envelope lane = lane_of(communicator, rank, letter.value<int>());
  const auto found = invitations_.find(lane);
  if (found == invitations_.end()) return;
  const auto revoked = std::find_if(found->second.begin(), found->second.end(),
                                    [&](const Invitation& each) { return each.id == id; });
  if (revoked != found->second.end())
    decline_from(lane, static_cast<std::size_t>(revoked - found->second.begin()));
}

// Declines those behind it, too: each of them counts the receives before it, and one of these is
// gone.
void Matcher::decline_from(const Envelope& lane, std::size_t place) {
  const auto found = invitations_.find(lane);
  if (found == invitations_.end()) return;
  auto& waiting = found->second;
  while (waiting.size() > place) {
    const Id id = waiting[place].id;
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(place));
    decline(lane.source, id);
  }
  if (waiting.empty()) invitations_.erase(found);
}

// What the next send of the lane is invited to. It counts, whether or not it accepts.
std::optional<Matcher::Invitation> Matcher::take_invitation(const Envelope& lane) {
  const auto found = invitations_.find(lane);
  if (found == invitations_.end()) return std::nullopt;
  std::optional<Invitation> taken;
  auto& waiting = found->second;
  if (waiting.front().due == 0) {
    taken = std::move(waiting.front());
    waiting.pop_front();
  }
  for (Invitation& each : waiting) each.due -= each.due != 0;
  if (waiting.empty()) invitations_.erase(found);
  if (gone(lane.source)) return std::nullopt;
  return taken;
}

// By the transport that the handshake would choose: the first that both sides accept. Null where
// that one has left nothing.
std::unique_ptr<transport::Acceptance> Matcher::accept_as_invited(const Message& send,
                                                                  const Invitation& invitation,
                                                                  std::string& transport,
                                                                  Refusals& refusals) {
  for (const Transports::Entry& entry : transports_.entries()) {
    transport = entry.transport->name();
    const Verdict verdict = Transports::judge(entry, send);
    if (!verdict.yes) {
      refusals.emplace_back(transport, verdict.why);
      continue;
    }
    if (const auto record = invitation.records.find(transport); record != invitation.records.end())
      return entry.transport->accept_invitation(send, invitation.message, record->second);
    const auto refused = [&](const auto& refusal) { return refusal.first == transport; };
    if (std::none_of(invitation.refusals.begin(), invitation.refusals.end(), refused))
      return nullptr;
  }
  return nullptr;
}

// The letter that accepts the invitation has been sent when this returns, or tells that the send is
// too long. Nothing where the invitation is to be declined.
std::optional<Matcher::Accepting> Matcher::write_accept(MatchedRequest& operation, MatchJob& job,
                                                        const Invitation& invitation, Id offered) {
  const Recording& recording = operation.recording();
  const Message send = message_of(operation, recording.peer_world);
  Accepting accepting;
  auto& [acceptance, text, refusals] = accepting;
  const bool fits = send.bytes <= invitation.message.bytes;
  try {
    if (fits) acceptance = accept_as_invited(send, invitation, text, refusals);
  } catch (const std::exception& failure) {
    base::log::info(operation.label() +
                    ": the invitation of its receive cannot be accepted: " + failure.what());
  }
  if (fits && !acceptance) return std::nullopt;
  if (!fits)
    text = fmt::format(
        "rank {} sends {} bytes with tag {}, the receive holds {}: make the receive larger",
        recording.communicator->rank, send.bytes, recording.tag, invitation.message.bytes);
  LetterWriter letter;
  letter.value(LetterKind::accept).value(invitation.id).value(offered);
  letter.value(recording.communicator->rank).value(recording.tag);
  letter.value(send.bytes).value(fits ? ErrorKind::none : ErrorKind::truncate).text(text);
  letter.bytes(acceptance ? acceptance->record() : transport::WireRecord());
  write_refusals(letter, refusals);
  const Envelope lane = lane_of(recording.communicator->id, recording.peer_world, recording.tag);
  Accepted& accepted = accepted_[recording.peer_world];
  accepted.lanes.push_back(lane);
  try {
    ++accepted.by_lane[lane];
    write(recording.peer_world, job, letter);
  } catch (...) {
    accepted.lanes.pop_back();
    uncount(accepted.by_lane, lane);
    throw;
  }
  return accepting;
}

// `offered`: the number of its offer, if it has made one. False: the invitation is declined, and
// the send is to be offered. Where it throws, the receiver has heard of it, as a rule.
bool Matcher::accept_invitation(MatchedRequest& operation, const std::shared_ptr<MatchJob>& job,
                                const Invitation& invitation, Id offered) {
  const int rank = operation.recording().peer_world;
  std::optional<Accepting> accepting;
  try {
    accepting = write_accept(operation, *job, invitation, offered);
  } catch (...) {
    decline(rank, invitation.id);
    throw;
  }
  if (!accepting) return decline(rank, invitation.id), false;
  if (offered != 0) {  // what it has offered may be used until the receiver has read this
    Sending& sending = sending_.at(offered);
    note_answer(offered, sending);
    sending_ids_.erase(&operation);
    sending.operation = nullptr;
  }
  if (!accepting->acceptance) {
    fail(operation, *job, base::error_by(ErrorKind::truncate, [&] {
           return operation.label() + ", refused by the receiver: " + accepting->text;
         }));
    return true;
  }
  auto plan = accepting->acceptance->confirm();
  const transport::Plan& path = *plan;
  operation.take_match({}, std::move(plan), accepting->text);
  note_pair(path, accepting->text, accepting->refusals, invitation.refusals);
  succeed(operation, *job);
  return true;
}

}  // namespace penstock::core
