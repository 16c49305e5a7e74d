// SPDX-License-Identifier: Apache-2.0
// Receives that are given up, offers that are withdrawn, senders that are gone: see matcher.hpp.
#include <algorithm>
#include <new>
#include <utility>

#include "core/matched_request.hpp"
#include "core/matching/match_receiver.hpp"

namespace penstock::core {

using base::Error;
using base::ErrorKind;

void MatchReceiver::withdraw(MatchedRequest& request, const Error& why) {
  const Envelope key = envelope_of(request.recording());
  const MatchedRequest::MatchPlace place = request.match_place;
  if (const auto posted = posted_.withdraw(key, place.number)) {
    if (const auto inviting = inviting_.find(posted->invitation); inviting != inviting_.end()) {
      inviting->second.receiving.request = nullptr;
      revoke(posted->invitation);
    }
    return revoke_behind(key, posted->number);
  }
  // It keeps an offer, or there was no memory to post it.
  const auto keeps = inviting_.find(place.invitation);
  if (keeps != inviting_.end() && keeps->second.receiving.request == &request) {
    keeps->second.receiving.request = nullptr;
    return revoke(keeps->first);
  }
  const auto waiting = to_answer_.find(place.letter);
  if (waiting != to_answer_.end() && waiting->second.receiving.request == &request) {
    refuse(waiting->second.offer, *waiting->second.receiving.job, why);
    let_go(waiting->second.offer);
    to_answer_.erase(waiting);
    return;
  }
  const auto answered = answered_.find(place.letter);
  if (answered != answered_.end() && answered->second.receiving.request == &request)
    abandon(answered->second, why);
}

void MatchReceiver::give_up_receive(const Receiving& receiving, const Error& error) {
  const auto job = receiving.job;
  if (receiving.request) give_up(*receiving.request, *job, error);
}

void MatchReceiver::cannot_read_offer(int rank, Id id, const Error& error) {
  LetterWriter letter;
  letter.value(LetterKind::answer).value(id).value(Id{0}).value(error.kind()).text(error.text());
  letters_.send(rank, letter);
}

void MatchReceiver::cannot_read_confirm(Id id, const Error& error) {
  if (const auto answered = answered_.find(id); answered != answered_.end())
    give_up_receive(answered->second.receiving, error);
}

void MatchReceiver::cannot_read_accept(Id id, const Error& error) {
  if (const auto inviting = inviting_.find(id); inviting != inviting_.end())
    give_up_receive(inviting->second.receiving, error);
}

// ---- Offers

void MatchReceiver::read_withdrawal(int rank, LetterReader& letter) {
  const auto id = letter.value<Id>();
  drop_offer(rank, id);
  tell_withdrawn(rank, id);
}

// What its sender keeps for it is free.
void MatchReceiver::tell_withdrawn(int rank, Id id) {
  LetterWriter known;
  known.value(LetterKind::withdrawn).value(id);
  letters_.send(rank, known);
}

// A receive that has taken it is posted again.
void MatchReceiver::drop_offer(int rank, Id id) {
  const auto found = offers_.find({rank, id});
  if (found == offers_.end()) return;
  const auto [where, number] = found->second;
  offers_.erase(found);
  switch (where) {
    case Where::unexpected:
      unexpected_.take(number);
      return;
    case Where::waiting: {
      const auto waiting = to_answer_.find(number);
      Receiving receiving = std::move(waiting->second.receiving);
      to_answer_.erase(waiting);
      return take_offer_or_wait(std::move(receiving), true);
    }
    case Where::kept: {  // its sender may still accept it, by another send
      Inviting& inviting = inviting_.find(number)->second;
      inviting.offer.reset();
      uncount(kept_, inviting.key);
      if (inviting.receiving.request == nullptr) return;
      const Receiving receiving = inviting.receiving;
      revoke(number);
      return take_offer_or_wait(receiving, true);
    }
    case Where::answered: {
      Receiving receiving = leave_answered(answered_.find(number)).receiving;
      if (receiving.request) take_offer_or_wait(std::move(receiving), true);
    }
  }
}

// An offer whose receive has been matched with another send.
void MatchReceiver::put_back(IncomingOffer offer) {
  if (auto posted = posted_.take(offer.envelope))
    return pair(std::move(posted->second), std::move(offer));
  leave_unexpected(std::move(offer));
}

// ---- Senders

void MatchReceiver::leave_the_gone() {
  for (const auto& [number, id] : numbers_of_the_gone())
    if (const auto answered = answered_.find(id); answered != answered_.end())
      leave_gone(answered->second);
  // Who has gone meanwhile, and all where there was no memory for a list.
  while (Answered* const answered = first_of_the_gone()) leave_gone(*answered);
  // A sender may die just now: what it has been answered for goes with the next look.
  for (auto next = answered_.begin(); next != answered_.end();) {
    const auto each = next++;
    if (each->second.receiving.request == nullptr && letters_.dead(each->second.offer.sender))
      leave_answered(each);
  }
  for (auto inviting = inviting_.begin(); inviting != inviting_.end();) {
    const auto each = inviting++;
    if (letters_.dead(each->second.sender)) end_invitation(each);
  }
}

void MatchReceiver::leave_gone(Answered& answered) {
  if (answered.receiving.request == nullptr) return;
  const Receiving receiving = answered.receiving;
  abandon(answered, Error(ErrorKind::mpi));
  take_offer_or_wait(receiving, true);
}

// The receives that such senders have been answered for, the earliest first. Empty without memory.
std::vector<std::pair<std::uint64_t, MatchReceiver::Id>> MatchReceiver::numbers_of_the_gone()
    const noexcept {
  std::vector<std::pair<std::uint64_t, Id>> gone;
  try {
    for (const auto& [id, answered] : answered_)
      if (answered.receiving.request != nullptr && letters_.gone(answered.offer.sender))
        gone.emplace_back(answered.receiving.number, id);
  } catch (const std::bad_alloc&) {
    return {};
  }
  std::sort(gone.begin(), gone.end());
  return gone;
}

// The earliest receive that such a sender has been answered for. Takes no memory.
MatchReceiver::Answered* MatchReceiver::first_of_the_gone() {
  Answered* first = nullptr;
  for (auto& [id, answered] : answered_) {
    const Receiving& receiving = answered.receiving;
    if (receiving.request == nullptr || !letters_.gone(answered.offer.sender)) continue;
    if (!first || receiving.number < first->receiving.number) first = &answered;
  }
  return first;
}

}  // namespace penstock::core
