// SPDX-License-Identifier: Apache-2.0
// What a sender makes of the invitations of receives that leave: see matcher.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "core/matched_request.hpp"
#include "core/matching/match_sender.hpp"
#include "core/message_of.hpp"

namespace penstock::core {

using base::Error;
using base::ErrorKind;
using transport::Message;
using transport::Verdict;

void MatchSender::read_invite(int rank, LetterReader& letter) {
  if (letters_.gone(rank)) return;
  Invitation invitation;
  invitation.id = letter.value<Id>();
  const auto communicator = letter.value<group::CommunicatorId>();
  const SendKey key{communicator, rank, letter.value<int>()};
  const auto before = letter.value<std::uint64_t>();
  const auto accepts_read = letter.value<std::uint64_t>();
  invitation.message.direction = transport::Direction::receive;
  invitation.message.memory = letter.value<transport::MemoryKind>();
  invitation.contents = read_contents(letter);
  invitation.message.bytes = invitation.contents.bytes;
  invitation.message.peer = rank;
  invitation.theirs = read_offers(letter);
  Accepted& accepted = accepted_[rank];
  for (; accepted.known < accepts_read && !accepted.keys.empty(); ++accepted.known) {
    uncount(accepted.by_key, accepted.keys.front());
    accepted.keys.pop_front();
  }
  const auto ahead = accepted.by_key.find(key);
  const std::size_t accepted_ahead = ahead == accepted.by_key.end() ? 0 : ahead->second;
  const auto unanswered = unanswered_.find(key);
  const std::size_t offered = unanswered == unanswered_.end() ? 0 : unanswered->second.size();
  // Among the offers, or beyond.
  const std::size_t place = before - std::min<std::size_t>(before, accepted_ahead);
  // See count_withdrawn().
  if (withdrawn_.count(key) != 0) return decline(rank, invitation.id);
  if (place >= offered) {
    put_in_queue(invitations_, key, [&](Invitations& queue) {
      invitation.due = queue.sends + place - offered;
      queue.waiting.push_back(std::move(invitation));
    });
    return;
  }
  const Id id = unanswered->second[place];
  Sending& sending = sending_.at(id);
  if (sending.request == nullptr) return decline(rank, invitation.id);
  const auto job = sending.job;
  MatchedRequest& request = *sending.request;
  attempt(request, job, [&] { accept_invitation(request, job, invitation, id); });
}

// Returns what the next send of the key is invited to. The send counts, whether or not it accepts.
std::optional<MatchSender::Invitation> MatchSender::take_invitation(const SendKey& key) {
  const auto found = invitations_.find(key);
  if (found == invitations_.end()) return std::nullopt;
  std::optional<Invitation> taken;
  auto& [sends, waiting] = found->second;
  if (waiting.front().due <= sends) {
    taken = std::move(waiting.front());
    waiting.pop_front();
  }
  ++sends;
  if (waiting.empty()) invitations_.erase(found);
  if (letters_.gone(key.receiver)) return std::nullopt;
  return taken;
}

// `offered`: the number of its offer, if it has made one. False: the invitation is declined, and
// the send is to be offered. Where it throws, the receiver has heard of it, as a rule.
bool MatchSender::accept_invitation(MatchedRequest& request, const std::shared_ptr<MatchJob>& job,
                                    const Invitation& invitation, Id offered) {
  const int rank = request.recording().peer_world;
  std::optional<Accepting> accepting;
  try {
    accepting = write_accept(request, *job, invitation, offered);
  } catch (...) {
    decline(rank, invitation.id);
    throw;
  }
  if (!accepting) return decline(rank, invitation.id), false;
  if (offered != 0) {  // what it has offered may be used until the receiver has read this
    Sending& sending = sending_.at(offered);
    note_answer(offered, sending);
    sending.request = nullptr;
  }
  if (!accepting->acceptance) {
    jobs_.fail(request, *job, base::error_by(accepting->misfit->kind(), [&] {
                 return fmt::format("{}, refused by the receiver: {}", request.label(),
                                    accepting->misfit->text());
               }));
    return true;
  }
  take_match(request, {}, accepting->acceptance->confirm(), accepting->text, accepting->refusals,
             invitation.theirs.refusals);
  jobs_.succeed(request, *job);
  return true;
}

// The letter that accepts the invitation has been sent when this returns, or tells that the send
// does not fit. Nothing where the invitation is to be declined.
std::optional<MatchSender::Accepting> MatchSender::write_accept(MatchedRequest& request,
                                                                MatchJob& job,
                                                                const Invitation& invitation,
                                                                Id offered) {
  const Recording& recording = request.recording();
  const Message send = message_of(request, recording.peer_world);
  Accepting accepting;
  auto& [acceptance, misfit, text, refusals] = accepting;
  misfit = core::misfit(contents_of(recording, check_), recording.communicator->rank, recording.tag,
                        invitation.contents);
  try {
    if (!misfit) acceptance = accept_as_invited(send, invitation, text, refusals);
  } catch (const std::exception& failure) {
    base::log::info(request.label() +
                    ": the invitation of its receive cannot be accepted: " + failure.what());
  }
  if (!misfit && !acceptance) return std::nullopt;
  LetterWriter letter;
  letter.value(LetterKind::accept).value(invitation.id).value(offered);
  letter.value(recording.communicator->rank).value(recording.tag);
  letter.value(send.bytes).value(misfit ? misfit->kind() : ErrorKind::none);
  letter.text(misfit ? misfit->text() : std::string_view(text));
  letter.bytes(acceptance ? acceptance->record() : transport::WireRecord());
  write_refusals(letter, refusals);
  const SendKey key = key_of(recording);
  Accepted& accepted = accepted_[recording.peer_world];
  accepted.keys.push_back(key);
  try {
    ++accepted.by_key[key];
    letters_.write(recording.peer_world, job, letter);
  } catch (...) {
    accepted.keys.pop_back();
    uncount(accepted.by_key, key);
    throw;
  }
  return accepting;
}

// By the transport that the handshake would choose: the first that both sides accept. Null where
// that one has left nothing.
std::unique_ptr<transport::Acceptance> MatchSender::accept_as_invited(const Message& send,
                                                                      const Invitation& invitation,
                                                                      std::string& transport,
                                                                      Refusals& refusals) {
  for (const Transports::Entry& entry : transports_.entries()) {
    transport = entry.transport->name();
    const Verdict verdict = Transports::judge(entry, send);
    if (!verdict.yes) {
      refusals.push_back({transport, Error(verdict.kind, verdict.why)});
      continue;
    }
    if (const auto record = invitation.theirs.records.find(transport);
        record != invitation.theirs.records.end())
      return entry.transport->accept_invitation(send, invitation.message, record->second);
    const auto refused = [&](const auto& refusal) { return refusal.transport == transport; };
    if (std::none_of(invitation.theirs.refusals.begin(), invitation.theirs.refusals.end(), refused))
      return nullptr;
  }
  return nullptr;
}

// ---- Those that are not accepted

void MatchSender::decline(int rank, Id invitation) noexcept {
  base::log::failures_in([&] {
    LetterWriter letter;
    letter.value(LetterKind::revoked).value(invitation);
    letters_.send(rank, letter);
  });
}

// An invitation that is not known here has been accepted or declined already, and that letter is
// the receiver's answer.
void MatchSender::read_revoke(int rank, LetterReader& letter) {
  const auto id = letter.value<Id>();
  const auto communicator = letter.value<group::CommunicatorId>();
  const SendKey key{communicator, rank, letter.value<int>()};
  const auto found = invitations_.find(key);
  if (found == invitations_.end()) return;
  const auto& waiting = found->second.waiting;
  const auto revoked =
      std::lower_bound(waiting.begin(), waiting.end(), id,
                       [](const Invitation& each, Id wanted) { return each.id < wanted; });
  if (revoked != waiting.end() && revoked->id == id)
    decline_from(key, static_cast<std::size_t>(revoked - waiting.begin()));
}

// Declines those behind it, too: each of them counts the receives before it, and one of these is
// gone.
void MatchSender::decline_from(const SendKey& key, std::size_t place) {
  const auto found = invitations_.find(key);
  if (found == invitations_.end()) return;
  auto& waiting = found->second.waiting;
  const auto first = waiting.begin() + static_cast<std::ptrdiff_t>(place);
  for (auto each = first; each != waiting.end(); ++each) decline(key.receiver, each->id);
  waiting.erase(first, waiting.end());
  if (waiting.empty()) invitations_.erase(found);
}

}  // namespace penstock::core
