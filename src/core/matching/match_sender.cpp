// SPDX-License-Identifier: Apache-2.0
// Offers of sends and their answers: see matcher.hpp.
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

void MatchSender::post(MatchedRequest& request, const std::shared_ptr<MatchJob>& job) {
  const Recording& recording = request.recording();
  const Message message = message_of(request, recording.peer_world);
  const SendKey key = key_of(recording);
  if (const auto invitation = take_invitation(key))
    if (accept_invitation(request, job, *invitation, 0)) return;
  Sending sending{&request, job, {}, key};
  if (recording.refusal.empty())  // else the receiver, too, is to learn of it
    sending.own = make_offers(transports_, message, [&](transport::Transport& each) {
      return recording.channel ? recording.channel->offer(each, message) : each.offer(message);
    });
  // Sent also without any transport: the receiver must learn of it, or it would wait for ever.
  const Id id = ++last_id_;
  LetterWriter letter;
  letter.value(LetterKind::offer)
      .value(id)
      .value(recording.communicator->id)
      .value(recording.communicator->rank);
  letter.value(recording.tag).value(message.mode).value(message.memory);
  write_contents(letter, contents_of(recording, check_));
  write_offers(letter, sending.own);
  letter.value(job->leaves);
  enter(id, std::move(sending));
  letters_.write(recording.peer_world, *job, letter);
}

// In all places or, without memory, in none.
void MatchSender::enter(Id id, Sending sending) {
  const auto place = sending_.emplace(id, std::move(sending)).first;
  try {
    put_in_queue(unanswered_, place->second.key, [&](auto& queue) { queue.push_back(id); });
    place->second.unanswered = true;
    place->second.request->match_place = {0, 0, id};
  } catch (...) {
    forget(place);
    throw;
  }
}

void MatchSender::forget(std::unordered_map<Id, Sending>::iterator sending) {
  note_answer(sending->first, sending->second);
  if (sending->second.withdrawn) uncount(withdrawn_, sending->second.key);
  sending_.erase(sending);
}

// ---- Answers

void MatchSender::read_answer(LetterReader& letter) {
  const auto found = sending_.find(letter.value<Id>());
  if (found == sending_.end()) return;
  const auto receiver_id = letter.value<Id>();
  const auto kind = letter.value<ErrorKind>();
  note_answer(found->first, found->second);
  if (found->second.request == nullptr) {  // withdrawn, of which the receiver hears
    if (kind == ErrorKind::none) close_unwanted(found->second, letter);
    return;
  }
  MatchedRequest& request = *found->second.request;
  const auto job = found->second.job;
  if (kind != ErrorKind::none) {
    const std::string text = letter.text();
    forget(found);
    jobs_.fail(request, *job, Error(kind, request.label() + ", refused by the receiver: " + text));
    return;
  }
  attempt(request, job, [&] {
    if (!connect(found->second, receiver_id, letter)) return;
    forget(found);
    jobs_.succeed(request, *job);
  });
}

// False when that could not be done: the receiver answers once more, by another transport or with a
// refusal.
bool MatchSender::connect(Sending& sending, Id receiver_id, LetterReader& answer) {
  const auto confirmed = answer.value<bool>();
  const std::string transport = answer.text();
  const auto record = answer.bytes();
  const Refusals refusals = read_refusals(answer);
  std::unique_ptr<transport::Plan> plan;
  Error why_not(ErrorKind::none);
  try {
    plan = sending.own.offers.at(transport)->connect(record);
  } catch (const std::exception& failure) {
    sending.own.offers.erase(transport);
    if (!confirmed) throw;  // and the receiver, which counts as matched, hears of it by its half
    why_not = error_of(failure);
  }
  const bool connected = plan != nullptr;
  if (connected)
    take_match(*sending.request, {}, std::move(plan), transport, sending.own.refusals, refusals);
  if (!confirmed) return true;
  LetterWriter confirm;
  confirm.value(LetterKind::confirm).value(receiver_id).value(connected);
  confirm.value(why_not.kind()).text(connected ? "" : why_not.what());
  letters_.write(sending.request->recording().peer_world, *sending.job, confirm);
  return connected;
}

void MatchSender::note_answer(Id id, Sending& sending) {
  if (!std::exchange(sending.unanswered, false)) return;
  const auto found = unanswered_.find(sending.key);
  found->second.erase(place_of(found->second, id));
  if (found->second.empty()) unanswered_.erase(found);
}

std::deque<MatchSender::Id>::iterator MatchSender::place_of(std::deque<Id>& queue, Id id) {
  return std::lower_bound(queue.begin(), queue.end(), id);
}

void MatchSender::cannot_read_answer(Id id, const Error& error) {
  const auto sending = sending_.find(id);
  if (sending == sending_.end() || sending->second.request == nullptr) return;
  const auto job = sending->second.job;
  give_up(*sending->second.request, *job, error);
}

// ---- Sends that have been given up

// Its offer must not be taken any more.
void MatchSender::withdraw(MatchedRequest& request, const Error& /*why*/) {
  const auto sending = sending_.find(request.match_place.letter);
  if (sending == sending_.end() || sending->second.request != &request) return;
  send_withdrawal(sending->second, sending->first);
  sending->second.request = nullptr;
  if (letters_.dead(request.recording().peer_world)) return forget(sending);
  count_withdrawn(sending->second);
}

void MatchSender::send_withdrawal(const Sending& sending, Id id) noexcept {
  const int rank = sending.request->recording().peer_world;
  base::log::failures_in([&] {
    LetterWriter letter;
    letter.value(LetterKind::withdraw).value(id);
    if (!letters_.gone(rank)) letters_.write(rank, *sending.job, letter);
  });
}

// Its receive will be posted again, and those behind move down: what they have been invited to is
// not theirs any more.
void MatchSender::count_withdrawn(Sending& sending) noexcept {
  base::log::failures_in([&] {
    ++withdrawn_[sending.key];
    sending.withdrawn = true;
    decline_from(sending.key, 0);
  });
}

// The receiver gives up nothing for it any more, and has answered it, if at all, before.
void MatchSender::read_withdrawn(LetterReader& letter) {
  if (const auto found = sending_.find(letter.value<Id>()); found != sending_.end()) forget(found);
}

// A receiver that counts as matched by its answer alone must hear that its send is gone.
void MatchSender::close_unwanted(Sending& sending, LetterReader& answer) noexcept {
  base::log::failures_in([&] {
    if (answer.value<bool>()) return;  // it waits for a confirmation, and gets the withdrawal
    const std::string transport = answer.text();
    sending.own.offers.at(transport)->connect(answer.bytes())->close();
  });
}

void MatchSender::forget_the_dead() {
  for (auto sending = sending_.begin(); sending != sending_.end();) {
    const auto each = sending++;
    if (each->second.request == nullptr && letters_.dead(each->second.key.receiver)) forget(each);
  }
}

}  // namespace penstock::core
