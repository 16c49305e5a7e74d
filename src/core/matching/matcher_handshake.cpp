// SPDX-License-Identifier: Apache-2.0
// The letters of the handshake, and the offers of sends: see matcher.hpp.
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

Envelope Matcher::envelope_of(const Recording& recording) {
  return {recording.communicator->id,
          recording.is_send() ? recording.communicator->rank : recording.peer, recording.tag};
}

std::string Matcher::text_of(const Refusals& refusals) {
  std::string text;
  for (const auto& [transport, why] : refusals)
    text += (text.empty() ? "" : "; ") + transport + ": " + why;
  return text.empty() ? "no objection" : text;
}

void Matcher::write_refusals(LetterWriter& letter, const Refusals& refusals) {
  letter.value(static_cast<std::uint32_t>(refusals.size()));
  for (const auto& [transport, why] : refusals) letter.text(transport).text(why);
}

Matcher::Refusals Matcher::read_refusals(LetterReader& letter) {
  Refusals refusals(letter.value<std::uint32_t>());
  for (auto& [transport, why] : refusals) {
    transport = letter.text();
    why = letter.text();
  }
  return refusals;
}

// What goes wrong with a letter fails the operation that it names, and nothing else. Where a letter
// is too short to name one, its sender's letters mean nothing any more, and that rank is lost to
// matching.
void Matcher::read(int rank, std::span<const std::byte> bytes) {
  auto kind = LetterKind::offer;
  std::optional<Id> id;
  try {
    LetterReader letter(bytes);
    kind = letter.value<LetterKind>();
    if (kind > LetterKind::revoked) throw Error(ErrorKind::internal, "a letter of an unknown kind");
    LetterReader whole = letter;
    id = letter.value<Id>();
    switch (kind) {
      case LetterKind::offer:
        return read_offer(rank, whole);
      case LetterKind::answer:
        return read_answer(whole);
      case LetterKind::confirm:
        return read_confirm(whole);
      case LetterKind::withdraw:
        return read_withdrawal(rank, whole);
      case LetterKind::withdrawn:
        return read_withdrawn(whole);
      case LetterKind::invite:
        return read_invite(rank, whole);
      case LetterKind::accept:
        return read_accept(rank, whole);
      case LetterKind::revoke:
        return read_revoke(rank, whole);
      case LetterKind::revoked:
        return read_revoked(whole);
    }
  } catch (const std::exception& failure) {
    const Error error(error_of(failure).kind(), fmt::format("a letter from rank {} is lost: {}",
                                                            rank, error_of(failure).text()));
    base::log::error(error.text());
    if (id)
      cannot_read(rank, kind, *id, error);
    else
      unreadable_.emplace(rank, error.text());
  }
}

// Ends what the letter is about, on both sides.
void Matcher::cannot_read(int rank, LetterKind kind, Id id, const Error& error) {
  try {
    const auto give_up_receive = [&](const Receiving& receiving) {
      const auto job = receiving.job;
      if (receiving.operation) give_up(*receiving.operation, *job, error);
    };
    if (kind == LetterKind::offer) {
      LetterWriter letter;
      letter.value(LetterKind::answer)
          .value(id)
          .value(Id{0})
          .value(error.kind())
          .text(error.text());
      send(rank, letter.take());
    } else if (const auto sending = sending_.find(id);
               kind == LetterKind::answer && sending != sending_.end()) {
      const auto job = sending->second.job;
      if (sending->second.operation) give_up(*sending->second.operation, *job, error);
    } else if (const auto answered = answered_.find(id);
               kind == LetterKind::confirm && answered != answered_.end()) {
      give_up_receive(answered->second.receiving);
    } else if (const auto inviting = inviting_.find(id);
               kind == LetterKind::accept && inviting != inviting_.end()) {
      give_up_receive(inviting->second.receiving);
    } else if (kind == LetterKind::invite) {
      decline(rank, id);
    }
  } catch (const std::exception& failure) {
    base::log::error(failure.what());
  }
}

// A letter that its reader may need for the match, so that the job does not end before it has left.
// The others go by send(): a peer that is done may read nothing for long, and MPI may take nothing
// for a process that does not.
void Matcher::write(int rank, MatchJob& job, LetterWriter& letter) {
  std::uint64_t& last = job.last_letters[rank];
  last = send(rank, letter.take());
}

void Matcher::post_send(MatchedRequest& operation, const std::shared_ptr<MatchJob>& job) {
  const Recording& recording = operation.recording();
  const Message message = message_of(operation, recording.peer_world);
  const Envelope lane = lane_of(recording.communicator->id, recording.peer_world, recording.tag);
  if (const auto invitation = take_invitation(lane))
    if (accept_invitation(operation, job, *invitation, 0)) return;
  Sending sending{&operation, job, {}, {}, lane};
  for (const Transports::Entry& entry : transports_.entries()) {
    const std::string name = entry.transport->name();
    try {
      const Verdict verdict = Transports::judge(entry, message);
      if (verdict.yes)
        sending.offers.emplace(name, entry.transport->offer(message));
      else
        sending.refusals.emplace_back(name, verdict.why);
    } catch (const std::exception& failure) {
      sending.refusals.emplace_back(name, error_of(failure).text());
    }
  }
  // Sent also without any transport: the receiver must learn of it, or it would wait for ever.
  const Id id = ++last_id_;
  LetterWriter letter;
  letter.value(LetterKind::offer)
      .value(id)
      .value(recording.communicator->id)
      .value(recording.communicator->rank);
  letter.value(recording.tag).value(message.mode).value(message.bytes).value(message.memory);
  write_refusals(letter, sending.refusals);
  letter.value(static_cast<std::uint32_t>(sending.offers.size()));
  for (const auto& [name, offer] : sending.offers) letter.text(name).bytes(offer->record());
  letter.value(job->leaves);
  enter(id, std::move(sending));
  write(recording.peer_world, *job, letter);
}

// In all places or, without memory, in none.
void Matcher::enter(Id id, Sending sending) {
  const auto place = sending_.emplace(id, std::move(sending)).first;
  try {
    sending_ids_.emplace(place->second.operation, id);
    unanswered_[place->second.lane].push_back(id);
    place->second.unanswered = true;
  } catch (...) {
    forget(place);
    throw;
  }
}

void Matcher::post_receive(MatchedRequest& operation, const std::shared_ptr<MatchJob>& job) {
  take_offer_or_wait({&operation, job, posted_.next_number()}, false);
}

// ---- The sender's side

void Matcher::note_answer(Id id, Sending& sending) {
  if (!std::exchange(sending.unanswered, false)) return;
  const auto lane = unanswered_.find(sending.lane);
  lane->second.erase(std::find(lane->second.begin(), lane->second.end(), id));
  if (lane->second.empty()) unanswered_.erase(lane);
}

void Matcher::forget(std::unordered_map<Id, Sending>::iterator sending) {
  note_answer(sending->first, sending->second);
  if (sending->second.withdrawn) uncount(withdrawn_, sending->second.lane);
  if (sending->second.operation != nullptr) sending_ids_.erase(sending->second.operation);
  sending_.erase(sending);
}

void Matcher::read_answer(LetterReader& letter) {
  const auto found = sending_.find(letter.value<Id>());
  if (found == sending_.end()) return;
  const auto receiver_id = letter.value<Id>();
  const auto kind = letter.value<ErrorKind>();
  note_answer(found->first, found->second);
  if (found->second.operation == nullptr) {  // withdrawn, of which the receiver hears
    if (kind == ErrorKind::none) close_unwanted(found->second, letter);
    return;
  }
  MatchedRequest& operation = *found->second.operation;
  const auto job = found->second.job;
  if (kind != ErrorKind::none) {
    const std::string text = letter.text();
    forget(found);
    fail(operation, *job, Error(kind, operation.label() + ", refused by the receiver: " + text));
    return;
  }
  attempt(operation, job, [&] {
    if (!connect(found->second, receiver_id, letter)) return;
    forget(found);
    succeed(operation, *job);
  });
}

// False when that could not be done: the receiver answers once more, by another transport or with a
// refusal.
bool Matcher::connect(Sending& sending, Id receiver_id, LetterReader& answer) {
  const auto confirmed = answer.value<bool>();
  const std::string transport = answer.text();
  const auto record = answer.bytes();
  const Refusals refusals = read_refusals(answer);
  std::unique_ptr<transport::Plan> plan;
  std::string why_not;
  try {
    plan = sending.offers.at(transport)->connect(record);
  } catch (const std::exception& failure) {
    sending.offers.erase(transport);
    if (!confirmed) throw;  // and the receiver, which counts as matched, hears of it by its half
    why_not = error_of(failure).text();
  }
  const bool connected = plan != nullptr;
  if (connected) {
    const transport::Plan& path = *plan;
    sending.operation->take_match({}, std::move(plan), transport);
    note_pair(path, transport, sending.refusals, refusals);
  }
  if (!confirmed) return true;
  LetterWriter confirm;
  confirm.value(LetterKind::confirm).value(receiver_id).value(connected).text(why_not);
  write(sending.operation->recording().peer_world, *sending.job, confirm);
  return connected;
}

}  // namespace penstock::core
