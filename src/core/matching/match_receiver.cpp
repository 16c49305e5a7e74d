// SPDX-License-Identifier: Apache-2.0
// Receives take offers and answer them: see matcher.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "core/matched_request.hpp"
#include "core/matching/match_receiver.hpp"
#include "core/message_of.hpp"

namespace penstock::core {

using base::Error;
using base::ErrorKind;
using transport::Message;
using transport::Verdict;

void MatchReceiver::post(MatchedRequest& request, const std::shared_ptr<MatchJob>& job) {
  request.match_place = {posted_.next_number(), 0, 0};
  take_offer_or_wait({&request, job, request.match_place.number}, false);
}

// A receive whose offer has come to nothing is posted again, as early as it was.
void MatchReceiver::take_offer_or_wait(Receiving receiving, bool again) {
  const Envelope key = envelope_of(receiving.request->recording());
  if (auto offer = take_unexpected(key)) return pair(std::move(receiving), std::move(*offer));
  attempt(*receiving.request, receiving.job, [&] {
    if (again) {
      revoke_behind(key, receiving.number);
    } else {
      // Or their sender alone would count them.
      if (receiving.job->leaves) answer_those_that_leave();
      if (may_invite(receiving, key)) invite(receiving, key);
    }
    posted_.post(receiving.number, key, receiving);
  });
}

std::optional<MatchReceiver::IncomingOffer> MatchReceiver::take_unexpected(const Envelope& key) {
  auto offer = unexpected_.take(key);
  for (; offer && letters_.gone(offer->sender); offer = unexpected_.take(key)) let_go(*offer);
  if (offer) let_go(*offer);
  return offer;
}

void MatchReceiver::read_offer(int rank, LetterReader& letter) {
  if (letters_.gone(rank)) return;
  IncomingOffer offer;
  offer.sender = rank;
  offer.number = unexpected_.next_number();
  offer.id = letter.value<Id>();
  offer.envelope.communicator = letter.value<group::CommunicatorId>();
  offer.envelope.source = letter.value<int>();
  offer.envelope.tag = letter.value<int>();
  try {
    offer.message.mode = letter.value<transport::Mode>();
    offer.message.memory = letter.value<transport::MemoryKind>();
    offer.contents = read_contents(letter);
    offer.message.bytes = offer.contents.bytes;
    offer.message.peer = rank;
    offer.theirs = read_offers(letter);
    offer.leaves = letter.value<bool>();
  } catch (const std::exception& failure) {
    // The send fails, as its rank is told; so does the receive that it is for.
    if (auto posted = posted_.take(offer.envelope))
      give_up_receive(posted->second, error_of(failure));
    throw;
  }
  if (auto posted = posted_.take(offer.envelope))
    pair(std::move(posted->second), std::move(offer));
  else
    leave_unexpected(std::move(offer));
}

void MatchReceiver::pair(Receiving receiving, IncomingOffer offer) {
  try {
    if (const auto inviting = inviting_.find(receiving.invitation); inviting != inviting_.end()) {
      return leave_with_invitation(inviting->second, inviting->first, offer);
    }
    if (one_leaves(receiving, offer)) return leave_waiting(receiving, offer);
  } catch (const std::bad_alloc& failure) {  // what was to be kept has not been moved
    const Error error = error_of(failure);
    refuse(offer, *receiving.job, error);
    return give_up(*receiving.request, *receiving.job, error);
  }
  answer({std::move(receiving), std::move(offer), {}, nullptr, {}, {}, {}});
}

bool MatchReceiver::one_leaves(const Receiving& receiving, const IncomingOffer& offer) {
  return (offer.leaves || receiving.job->leaves) && receiving.request->recording().peer != any_rank;
}

// ---- Where offers are. Where there is no memory nothing has been moved.

void MatchReceiver::leave_unexpected(IncomingOffer offer) {
  const OfferName name{offer.sender, offer.id};
  const std::uint64_t number = offer.number;
  const Envelope envelope = offer.envelope;
  hold(offer, Where::unexpected, number);
  try {
    unexpected_.add(number, envelope, std::move(offer));
  } catch (...) {
    offers_.erase(name);
    throw;
  }
}

// Until its sender has decided.
void MatchReceiver::leave_with_invitation(Inviting& inviting, Id invitation, IncomingOffer& offer) {
  hold(offer, Where::kept, invitation);
  try {
    ++kept_[inviting.key];
  } catch (...) {
    let_go(offer);
    throw;
  }
  inviting.offer = std::move(offer);
}

void MatchReceiver::leave_waiting(Receiving& receiving, IncomingOffer& offer) {
  const Id id = ++last_id_;
  const auto place = to_answer_.try_emplace(id).first;
  try {
    hold(offer, Where::waiting, id);
  } catch (...) {
    to_answer_.erase(place);
    throw;
  }
  receiving.request->match_place.letter = id;
  place->second = {std::move(receiving), std::move(offer)};
}

std::unordered_map<MatchReceiver::Id, MatchReceiver::Answered>::iterator
MatchReceiver::enter_answered(Id id, const Answered& answered) {
  const Envelope key = envelope_of(answered.receiving.request->recording());
  const auto place = answered_.try_emplace(id).first;
  try {
    ++answering_[key];
    try {
      hold(answered.offer, Where::answered, id);
    } catch (...) {
      uncount(answering_, key);
      throw;
    }
  } catch (...) {
    answered_.erase(place);
    throw;
  }
  return place;
}

MatchReceiver::Answered MatchReceiver::leave_answered(
    std::unordered_map<Id, Answered>::iterator answered) {
  Answered left = std::move(answered->second);
  answered_.erase(answered);
  let_go(left.offer);
  if (left.receiving.request != nullptr)
    uncount(answering_, envelope_of(left.receiving.request->recording()));
  return left;
}

// It is closed once it is confirmed.
void MatchReceiver::abandon(Answered& answered, const Error& why) noexcept {
  uncount(answering_, envelope_of(answered.receiving.request->recording()));
  answered.receiving.request = nullptr;
  answered.abandoned = why;
}

// ---- Answers

void MatchReceiver::answer_those_that_leave() {
  while (!to_answer_.empty()) {
    auto [receiving, offer] = std::move(to_answer_.begin()->second);
    to_answer_.erase(to_answer_.begin());
    let_go(offer);
    if (letters_.gone(offer.sender))
      take_offer_or_wait(std::move(receiving), true);
    else
      answer({std::move(receiving), std::move(offer), {}, nullptr, {}, {}, {}});
  }
}

void MatchReceiver::answer(Answered answered) {
  try {
    send_answer(answered);
  } catch (const std::exception& failure) {
    const Error error = error_of(failure);
    refuse(answered.offer, *answered.receiving.job, error);
    jobs_.fail(*answered.receiving.request, *answered.receiving.job, error);
  }
}

void MatchReceiver::send_answer(Answered& answered) {
  const MatchedRequest& request = *answered.receiving.request;
  const IncomingOffer& offer = answered.offer;
  if (const auto error = misfit(offer.contents, offer.envelope.source, offer.envelope.tag,
                                contents_of(request.recording(), check_)))
    throw Error(error->kind(), fmt::format("{}: {}", request.label(), error->text()));
  if (!accept_next(answered))
    throw Error(
        kind_of(offer.theirs.refusals, answered.refusals),
        fmt::format("{}: no transport can serve the pair. Sender's side: {}. Receiver's side: {}",
                    request.label(), text_of(offer.theirs.refusals), text_of(answered.refusals)));
  const Id id = ++last_id_;
  LetterWriter letter;
  letter.value(LetterKind::answer).value(offer.id).value(id).value(ErrorKind::none);
  // An invitation that is being revoked may still be accepted for this send: then the receive is
  // posted again.
  const bool counts_at_once = one_leaves(answered.receiving, offer) &&
                              !answered.acceptance->needs_confirmation() &&
                              revoking_.count(offer.envelope) == 0;
  letter.value(!counts_at_once).text(answered.transport).bytes(answered.acceptance->record());
  write_refusals(letter, answered.refusals);
  if (counts_at_once) {
    letters_.write(offer.sender, *answered.receiving.job, letter);
    return complete(answered);
  }
  // What may throw comes before the letter is sent.
  const auto place = enter_answered(id, answered);
  try {
    letters_.write(offer.sender, *answered.receiving.job, letter);
  } catch (...) {
    place->second = std::move(answered);
    answered = leave_answered(place);
    throw;
  }
  answered.receiving.request->match_place.letter = id;
  place->second = std::move(answered);
}

bool MatchReceiver::accept_next(Answered& answered) {
  const MatchedRequest& request = *answered.receiving.request;
  Message receive = message_of(request, answered.offer.sender);
  receive.mode = answered.offer.message.mode;
  for (const Transports::Entry& entry : transports_.entries()) {
    const std::string name = entry.transport->name();
    if (std::find(answered.tried.begin(), answered.tried.end(), name) != answered.tried.end())
      continue;
    answered.tried.push_back(name);
    try {
      const Verdict verdict = Transports::judge(entry, receive);
      if (!verdict.yes) {
        answered.refusals.push_back({name, Error(verdict.kind, verdict.why)});
        continue;
      }
      const auto offered = answered.offer.theirs.records.find(name);
      if (offered == answered.offer.theirs.records.end()) continue;  // the sender has said why
      const Message& send = answered.offer.message;
      const auto& channel = request.recording().channel;
      answered.acceptance = channel
                                ? channel->accept(*entry.transport, receive, send, offered->second)
                                : entry.transport->accept(receive, send, offered->second);
      answered.transport = name;
      return true;
    } catch (const std::exception& failure) {
      answered.refusals.push_back({name, error_of(failure)});
    }
  }
  return false;
}

void MatchReceiver::refuse(const IncomingOffer& offer, MatchJob& job, const Error& error) noexcept {
  base::log::failures_in([&] {
    LetterWriter letter;
    letter.value(LetterKind::answer)
        .value(offer.id)
        .value(Id{0})
        .value(error.kind())
        .text(error.text());
    letters_.write(offer.sender, job, letter);
  });
}

void MatchReceiver::read_confirm(LetterReader& letter) {
  const auto found = answered_.find(letter.value<Id>());
  const auto connected = letter.value<bool>();
  const auto kind = letter.value<ErrorKind>();
  const std::string why = letter.text();
  if (found == answered_.end()) return;  // the sender has died, or withdrawn
  // Before it leaves its place, as there may be no memory.
  if (!connected) found->second.refusals.push_back({found->second.transport, Error(kind, why)});
  Answered answered = leave_answered(found);
  if (!answered.receiving.request) {  // abandoned while its answer was on the way
    if (connected) return answered.acceptance->confirm()->close();
    // Or the sender would wait for our next answer.
    return refuse(answered.offer, *answered.receiving.job, *answered.abandoned);
  }
  if (connected) return complete(answered);
  answered.acceptance.reset();
  answer(std::move(answered));
}

void MatchReceiver::complete(Answered& answered) {
  MatchedRequest& request = *answered.receiving.request;
  const auto job = answered.receiving.job;
  attempt(request, job, [&] {
    const IncomingOffer& offer = answered.offer;
    take_match(request, {offer.envelope.source, offer.envelope.tag, offer.message.bytes},
               answered.acceptance->confirm(), answered.transport, answered.refusals,
               offer.theirs.refusals);
    jobs_.succeed(request, *job);
  });
}

}  // namespace penstock::core
