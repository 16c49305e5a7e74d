// SPDX-License-Identifier: Apache-2.0
// Sends that are given up, and what becomes of their offers and of the receives that have taken
// them: see matcher.hpp.
#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "core/matched_request.hpp"
#include "core/matching/letter.hpp"
#include "core/matching/matcher.hpp"

namespace penstock::core {

// ---- The sender's side

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

// Its receive will be posted again, and those behind move down: what they have been invited to is
// not theirs any more.
void Matcher::count_withdrawn(Sending& sending) noexcept {
  try {
    ++withdrawn_[sending.lane];
    sending.withdrawn = true;
    decline_from(sending.lane, 0);
  } catch (const std::exception& failure) {
    base::log::error(failure.what());
  }
}

// The receiver gives up nothing for it any more, and has answered it, if at all, before.
void Matcher::read_withdrawn(LetterReader& letter) {
  if (const auto found = sending_.find(letter.value<Id>()); found != sending_.end()) forget(found);
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

// ---- The receiver's side

void Matcher::read_withdrawal(int rank, LetterReader& letter) {
  const auto id = letter.value<Id>();
  drop_offer(rank, id);
  tell_withdrawn(rank, id);
}

// What its sender keeps for it is free.
void Matcher::tell_withdrawn(int rank, Id id) {
  LetterWriter known;
  known.value(LetterKind::withdrawn).value(id);
  send(rank, known.take());
}

// A receive that has taken it is posted again.
void Matcher::drop_offer(int rank, Id id) {
  const auto withdrawn = [&](const IncomingOffer& offer) {
    return offer.sender == rank && offer.id == id;
  };
  if (unexpected_.take_if(withdrawn)) return;
  const auto waiting = std::find_if(to_answer_.begin(), to_answer_.end(),
                                    [&](const auto& each) { return withdrawn(each.second); });
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
  const auto found = std::find_if(answered_.begin(), answered_.end(),
                                  [&](const auto& each) { return withdrawn(each.second.offer); });
  if (found == answered_.end()) return;
  Receiving receiving = std::move(found->second.receiving);
  answered_.erase(found);
  if (receiving.operation) take_offer_or_wait(std::move(receiving), true);
}

// An offer whose receive has been matched with another send.
void Matcher::put_back(IncomingOffer offer) {
  if (auto posted = posted_.take(offer.envelope))
    return pair(std::move(posted->second), std::move(offer));
  unexpected_.add(offer.number, offer.envelope, std::move(offer));
}

}  // namespace penstock::core
