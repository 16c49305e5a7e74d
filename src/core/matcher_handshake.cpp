// SPDX-License-Identifier: Apache-2.0
// The letters of the handshake: see matcher.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "core/letter.hpp"
#include "core/matcher.hpp"
#include "core/message_of.hpp"
#include "core/operation.hpp"

namespace penstock::core {

using base::Error;
using base::ErrorKind;
using transport::Message;
using transport::Verdict;

Envelope Matcher::envelope_of(const Recording& recording) {
  return {recording.communicator->id, recording.is_send() ? recording.communicator->rank : recording.peer,
          recording.tag};
}

std::string Matcher::text_of(const Refusals& refusals) {
  std::string text;
  for (const auto& [transport, why] : refusals) text += (text.empty() ? "" : "; ") + transport + ": " + why;
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

// What goes wrong for the operation that a letter is for fails that one; whose letters cannot be told apart any more is
// lost to matching.
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
    const Error error(error_of(failure).kind(),
                      fmt::format("a letter from rank {} is lost: {}", rank, error_of(failure).text()));
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
      letter.value(LetterKind::answer).value(id).value(Id{0}).value(error.kind()).text(error.text());
      send(rank, letter.take());
    } else if (const auto sending = sending_.find(id); kind == LetterKind::answer && sending != sending_.end()) {
      const auto job = sending->second.job;
      if (sending->second.operation) give_up(*sending->second.operation, *job, error);
    } else if (const auto answered = answered_.find(id); kind == LetterKind::confirm && answered != answered_.end()) {
      give_up_receive(answered->second.receiving);
    } else if (const auto inviting = inviting_.find(id); kind == LetterKind::accept && inviting != inviting_.end()) {
      give_up_receive(inviting->second.receiving);
    }
  } catch (const std::exception& failure) {
    base::log::error(failure.what());
  }
}

void Matcher::write(int rank, MatchJob& job, LetterWriter& letter) {
  job.written_to.insert(rank);
  send(rank, letter.take());
}

void Matcher::post_send(Operation& operation, const std::shared_ptr<MatchJob>& job) {
  const Recording& recording = operation.recording();
  const Message message = message_of(operation, recording.peer_world);
  const Envelope lane = lane_of(recording.communicator->id, recording.peer_world, recording.tag);
  if (const auto invitation = take_invitation(lane)) {
    if (accept_invitation(operation, job, *invitation, 0)) return;
    decline(recording.peer_world, invitation->id);
  }
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
  letter.value(LetterKind::offer).value(id).value(recording.communicator->id).value(recording.communicator->rank);
  letter.value(recording.tag).value(message.mode).value(message.bytes).value(message.memory);
  write_refusals(letter, sending.refusals);
  letter.value(static_cast<std::uint32_t>(sending.offers.size()));
  for (const auto& [name, offer] : sending.offers) letter.text(name).bytes(offer->blob());
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

void Matcher::post_receive(Operation& operation, const std::shared_ptr<MatchJob>& job) {
  take_offer_or_wait({&operation, job, posted_.next_number()}, false);
}

// ---- The receiver's side

// A receive whose offer has come to nothing is posted again, as early as it was.
void Matcher::take_offer_or_wait(Receiving receiving, bool again) {
  const Envelope key = envelope_of(receiving.operation->recording());
  if (auto offer = take_unexpected(key)) return pair(std::move(receiving), std::move(*offer));
  if (again) {
    revoke_behind(key, receiving.number);
  } else {
    if (receiving.job->leaves) answer_those_that_leave();  // or their sender alone would count them
    if (may_invite(receiving, key)) invite(receiving, key);
  }
  posted_.post(receiving.number, key, receiving);
}

std::optional<Matcher::IncomingOffer> Matcher::take_unexpected(const Envelope& key) {
  auto offer = unexpected_.take(key);
  while (offer && gone(offer->sender)) offer = unexpected_.take(key);
  return offer;
}

void Matcher::read_offer(int rank, LetterReader& letter) {
  if (gone(rank)) return;
  IncomingOffer offer;
  offer.sender = rank;
  offer.id = letter.value<Id>();
  offer.envelope.communicator = letter.value<group::CommunicatorId>();
  offer.envelope.source = letter.value<int>();
  offer.envelope.tag = letter.value<int>();
  offer.message.mode = letter.value<transport::Mode>();
  offer.message.bytes = letter.value<std::size_t>();
  offer.message.memory = letter.value<transport::MemoryKind>();
  offer.message.peer = rank;
  offer.refusals = read_refusals(letter);
  for (auto count = letter.value<std::uint32_t>(); count > 0; --count) {
    std::string name = letter.text();
    const auto blob = letter.bytes();
    offer.blobs.emplace(std::move(name), transport::Blob(blob.begin(), blob.end()));
  }
  offer.leaves = letter.value<bool>();
  if (auto posted = posted_.take(offer.envelope))
    pair(std::move(posted->second), std::move(offer));
  else
    unexpected_.add(offer.envelope, std::move(offer));
}

bool Matcher::one_leaves(const Receiving& receiving, const IncomingOffer& offer) {
  return (offer.leaves || receiving.job->leaves) && receiving.operation->recording().peer != any_rank;
}

void Matcher::pair(Receiving receiving, IncomingOffer offer) {
  if (const auto inviting = inviting_.find(receiving.invitation); inviting != inviting_.end()) {
    inviting->second.offer = std::move(offer);  // until its sender has decided
    ++kept_[inviting->second.key];
    return;
  }
  if (one_leaves(receiving, offer))
    to_answer_.emplace_back(std::move(receiving), std::move(offer));
  else
    answer({std::move(receiving), std::move(offer), {}, nullptr, {}, {}, {}});
}

void Matcher::answer_those_that_leave() {
  while (!to_answer_.empty()) {
    auto [receiving, offer] = std::move(to_answer_.front());
    to_answer_.pop_front();
    if (gone(offer.sender))
      take_offer_or_wait(std::move(receiving), true);
    else
      answer({std::move(receiving), std::move(offer), {}, nullptr, {}, {}, {}});
  }
}

void Matcher::answer(Answered answered) {
  try {
    send_answer(answered);
  } catch (const std::exception& failure) {
    const Error error = error_of(failure);
    refuse(answered.offer, *answered.receiving.job, error);
    fail(*answered.receiving.operation, *answered.receiving.job, error);
  }
}

void Matcher::send_answer(Answered& answered) {
  const Operation& operation = *answered.receiving.operation;
  const IncomingOffer& offer = answered.offer;
  if (offer.message.bytes > operation.recording().bytes)
    throw Error(ErrorKind::truncate,
                fmt::format("{}: rank {} sends {} bytes with tag {}, the receive holds {}: make the receive larger",
                            operation.label(), offer.envelope.source, offer.message.bytes, offer.envelope.tag,
                            operation.recording().bytes));
  if (!accept_next(answered))
    throw Error(transports_.refusal(message_of(operation, offer.sender)),
                fmt::format("{}: no transport can serve the pair. Sender's side: {}. Receiver's side: {}",
                            operation.label(), text_of(offer.refusals), text_of(answered.refusals)));
  const Id id = ++last_id_;
  LetterWriter letter;
  letter.value(LetterKind::answer).value(offer.id).value(id).value(ErrorKind::none);
  // An invitation that is being revoked may be accepted for this send all the same: then the receive is posted again.
  const bool counts_at_once = one_leaves(answered.receiving, offer) && !answered.acceptance->needs_confirmation() &&
                              revoking_.count(offer.envelope) == 0;
  letter.value(!counts_at_once).text(answered.transport).bytes(answered.acceptance->blob());
  write_refusals(letter, answered.refusals);
  if (counts_at_once) {
    write(offer.sender, *answered.receiving.job, letter);
    return complete(answered);
  }
  const auto place = answered_.try_emplace(id).first;  // what may throw comes before the letter is sent
  try {
    write(offer.sender, *answered.receiving.job, letter);
  } catch (...) {
    answered_.erase(place);
    throw;
  }
  place->second = std::move(answered);
}

bool Matcher::accept_next(Answered& answered) {
  const Operation& operation = *answered.receiving.operation;
  Message receive = message_of(operation, answered.offer.sender);
  receive.mode = answered.offer.message.mode;
  for (const Transports::Entry& entry : transports_.entries()) {
    const std::string name = entry.transport->name();
    if (std::find(answered.tried.begin(), answered.tried.end(), name) != answered.tried.end()) continue;
    answered.tried.push_back(name);
    try {
      const Verdict verdict = Transports::judge(entry, receive);
      if (!verdict.yes) {
        answered.refusals.emplace_back(name, verdict.why);
        continue;
      }
      const auto offered = answered.offer.blobs.find(name);
      if (offered == answered.offer.blobs.end()) continue;  // the sender has said why
      answered.acceptance = entry.transport->accept(receive, answered.offer.message, offered->second);
      answered.transport = name;
      return true;
    } catch (const std::exception& failure) {
      answered.refusals.emplace_back(name, error_of(failure).text());
    }
  }
  return false;
}

void Matcher::refuse(const IncomingOffer& offer, MatchJob& job, const Error& error) noexcept {
  try {
    LetterWriter letter;
    letter.value(LetterKind::answer).value(offer.id).value(Id{0}).value(error.kind()).text(error.text());
    write(offer.sender, job, letter);
  } catch (const std::exception& failure) {
    base::log::error(failure.what());
  }
}

void Matcher::read_confirm(LetterReader& letter) {
  const auto found = answered_.find(letter.value<Id>());
  const auto connected = letter.value<bool>();
  const std::string why = connected ? "" : letter.text();
  if (found == answered_.end()) return;  // the sender has died, or withdrawn
  Answered answered = std::move(found->second);
  answered_.erase(found);
  if (!answered.receiving.operation) {  // abandoned while its answer was on the way
    if (connected) return answered.acceptance->confirm()->close();
    // Or the sender would wait for our next answer.
    return refuse(answered.offer, *answered.receiving.job, *answered.abandoned);
  }
  if (connected) return complete(answered);
  answered.acceptance.reset();
  answered.refusals.emplace_back(answered.transport, why);
  answer(std::move(answered));
}

void Matcher::complete(Answered& answered) {
  Operation& operation = *answered.receiving.operation;
  const auto job = answered.receiving.job;
  attempt(operation, job, [&] {
    auto plan = answered.acceptance->confirm();
    const transport::Plan& path = *plan;
    operation.take_match({answered.offer.envelope.source, answered.offer.envelope.tag, answered.offer.message.bytes},
                         std::move(plan), answered.transport);
    note_pair(path, answered.transport, answered.refusals, answered.offer.refusals);
    succeed(operation, *job);
  });
}

void Matcher::send_withdrawal(const Sending& sending, Id id) noexcept {
  const int rank = sending.operation->recording().peer_world;
  try {
    LetterWriter letter;
    letter.value(LetterKind::withdraw).value(id);
    if (!gone(rank)) write(rank, *sending.job, letter);
  } catch (const std::exception& failure) {
    base::log::error(failure.what());
  }
}

void Matcher::read_withdrawal(int rank, LetterReader& letter) {
  const auto id = letter.value<Id>();
  LetterWriter known;
  known.value(LetterKind::withdrawn).value(id);
  send(rank, known.take());
  drop_offer(rank, id);
}

// A receive that has taken it is posted again.
void Matcher::drop_offer(int rank, Id id) {
  const auto withdrawn = [&](const IncomingOffer& offer) { return offer.sender == rank && offer.id == id; };
  if (unexpected_.take_if(withdrawn)) return;
  const auto waiting =
      std::find_if(to_answer_.begin(), to_answer_.end(), [&](const auto& each) { return withdrawn(each.second); });
  if (waiting != to_answer_.end()) {
    Receiving receiving = std::move(waiting->first);
    to_answer_.erase(waiting);
    return take_offer_or_wait(std::move(receiving), true);
  }
  if (!kept_.empty()) {
    const auto keeps = std::find_if(inviting_.begin(), inviting_.end(), [&](const auto& each) {
      return each.second.offer && withdrawn(*each.second.offer);
    });
    if (keeps != inviting_.end()) {  // its sender may accept it all the same, by another send
      keeps->second.offer.reset();
      uncount(kept_, keeps->second.key);
      if (keeps->second.receiving.operation == nullptr) return;
      revoke(keeps->first);
      return take_offer_or_wait(keeps->second.receiving, true);
    }
  }
  const auto found =
      std::find_if(answered_.begin(), answered_.end(), [&](const auto& each) { return withdrawn(each.second.offer); });
  if (found == answered_.end()) return;
  Receiving receiving = std::move(found->second.receiving);
  answered_.erase(found);
  if (receiving.operation) take_offer_or_wait(std::move(receiving), true);
}

// An offer whose receive has been matched with another send.
void Matcher::put_back(IncomingOffer offer) {
  if (auto posted = posted_.take(offer.envelope)) return pair(std::move(posted->second), std::move(offer));
  unexpected_.put_back(offer.envelope, std::move(offer));
}

// ---- The sender's side

// Its receive will be posted again, and those behind move down: what they have been invited to is not theirs any more.
void Matcher::count_withdrawn(Sending& sending) noexcept {
  try {
    ++withdrawn_[sending.lane];
    sending.withdrawn = true;
    decline_from(sending.lane, 0);
  } catch (const std::exception& failure) {
    base::log::error(failure.what());
  }
}

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

// The receiver gives up nothing for it any more, and has answered it, if at all, before.
void Matcher::read_withdrawn(LetterReader& letter) {
  if (const auto found = sending_.find(letter.value<Id>()); found != sending_.end()) forget(found);
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
  Operation& operation = *found->second.operation;
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

// A receiver that counts as matched by its answer alone must hear that there is nobody.
void Matcher::close_unwanted(Sending& sending, LetterReader& answer) noexcept {
  try {
    if (answer.value<bool>()) return;  // it waits for a confirmation, and gets the withdrawal
    const std::string transport = answer.text();
    sending.offers.at(transport)->connect(answer.bytes())->close();
  } catch (const std::exception& failure) {
    base::log::error(failure.what());
  }
}

// False when that could not be done: the receiver answers once more, by another transport or with a refusal.
bool Matcher::connect(Sending& sending, Id receiver_id, LetterReader& answer) {
  const auto confirmed = answer.value<bool>();
  const std::string transport = answer.text();
  const auto blob = answer.bytes();
  const Refusals refusals = read_refusals(answer);
  std::unique_ptr<transport::Plan> plan;
  std::string why_not;
  try {
    plan = sending.offers.at(transport)->connect(blob);
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
