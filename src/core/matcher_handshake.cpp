// SPDX-License-Identifier: Apache-2.0
// The letters of the handshake: see matcher.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "core/letter.hpp"
#include "core/matcher.hpp"
#include "core/operation.hpp"
#include "device/gpu.hpp"

namespace penstock::core {

using base::Error;
using base::ErrorKind;
using transport::Direction;
using transport::Message;
using transport::Mode;
using transport::Verdict;

namespace {

enum class LetterKind : std::uint8_t { offer, answer, confirm, withdraw };

Mode mode_of(RequestKind kind) {
  switch (kind) {
    case RequestKind::synchronous_send:
      return Mode::synchronous;
    case RequestKind::ready_send:
      return Mode::ready;
    case RequestKind::buffered_send:
      return Mode::buffered;
    default:
      return Mode::standard;
  }
}

Message message_of(const Operation& operation, int peer_world) {
  const Recording& recording = operation.recording();
  Message message;
  message.direction = operation.is_receive() ? Direction::receive : Direction::send;
  message.mode = mode_of(recording.kind);
  message.buffer = recording.buffer;
  message.bytes = recording.bytes;
  message.memory = device::memory_kind(recording.buffer);
  if (message.memory != device::MemoryKind::host) message.gpu = device::gpu_of(recording.buffer);
  message.layout = recording.layout;
  message.peer = peer_world;
  return message;
}

}  // namespace

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

// A letter that cannot be read is nobody's; what goes wrong for the operation that it is for, fails that one.
void Matcher::read(int rank, std::span<const std::byte> bytes) {
  try {
    LetterReader letter(bytes);
    switch (letter.value<LetterKind>()) {
      case LetterKind::offer:
        return read_offer(rank, letter);
      case LetterKind::answer:
        return read_answer(letter);
      case LetterKind::confirm:
        return read_confirm(letter);
      case LetterKind::withdraw:
        return read_withdrawal(rank, letter);
    }
  } catch (const std::exception& failure) {
    base::log::error(fmt::format("a letter from rank {} is lost: {}", rank, error_of(failure).text()));
  }
}

void Matcher::write(int rank, MatchJob& job, LetterWriter& letter) {
  job.written_to.insert(rank);
  mailbox_.send(rank, letter.take());
}

void Matcher::post_send(Operation& operation, const std::shared_ptr<MatchJob>& job) {
  const Recording& recording = operation.recording();
  const Message message = message_of(operation, recording.peer_world);
  Sending sending{&operation, job, {}, {}};
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
  sending_.emplace(id, std::move(sending));
  write(recording.peer_world, *job, letter);
}

void Matcher::post_receive(Operation& operation, const std::shared_ptr<MatchJob>& job) {
  take_offer_or_wait({&operation, job, posted_.next_number()});
}

// ---- The receiver's side

// A receive whose offer has come to nothing is posted again as early as it was.
void Matcher::take_offer_or_wait(Receiving receiving) {
  const Envelope key = envelope_of(receiving.operation->recording());
  if (auto offer = take_unexpected(key))
    pair(std::move(receiving), std::move(*offer));
  else
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
  offer.message.mode = letter.value<Mode>();
  offer.message.bytes = letter.value<std::size_t>();
  offer.message.memory = letter.value<transport::MemoryKind>();
  offer.message.peer = rank;
  offer.refusals = read_refusals(letter);
  for (auto count = letter.value<std::uint32_t>(); count > 0; --count) {
    std::string name = letter.text();
    const auto blob = letter.bytes();
    offer.blobs.emplace(std::move(name), transport::Blob(blob.begin(), blob.end()));
  }
  if (auto posted = posted_.take(offer.envelope))
    pair(std::move(posted->second), std::move(offer));
  else
    unexpected_.add(offer.envelope, std::move(offer));
}

void Matcher::pair(Receiving receiving, IncomingOffer offer) {
  answer({std::move(receiving), std::move(offer), {}, nullptr, {}, {}, {}});
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
  letter.text(answered.transport).bytes(answered.acceptance->blob());
  write_refusals(letter, answered.refusals);
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
  const std::string why = letter.text();
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
  const auto withdrawn = [&](const IncomingOffer& offer) { return offer.sender == rank && offer.id == id; };
  if (unexpected_.take_if(withdrawn)) return;
  const auto found =
      std::find_if(answered_.begin(), answered_.end(), [&](const auto& each) { return withdrawn(each.second.offer); });
  if (found == answered_.end()) return;
  Receiving receiving = std::move(found->second.receiving);
  answered_.erase(found);
  if (receiving.operation) take_offer_or_wait(std::move(receiving));
}

// ---- The sender's side

void Matcher::read_answer(LetterReader& letter) {
  const auto id = letter.value<Id>();
  const auto receiver_id = letter.value<Id>();
  const auto kind = letter.value<ErrorKind>();
  const auto found = sending_.find(id);
  if (found == sending_.end()) return;  // withdrawn, of which the receiver hears
  Operation& operation = *found->second.operation;
  const auto job = found->second.job;
  if (kind != ErrorKind::none) {
    const std::string text = letter.text();
    sending_.erase(found);
    fail(operation, *job, Error(kind, operation.label() + ", refused by the receiver: " + text));
    return;
  }
  attempt(operation, job, [&] {
    if (!connect(found->second, receiver_id, letter)) return;
    sending_.erase(found);
    succeed(operation, *job);
  });
}

// False when that could not be done: the receiver answers once more, by another transport or with a refusal.
bool Matcher::connect(Sending& sending, Id receiver_id, LetterReader& answer) {
  const std::string transport = answer.text();
  const auto blob = answer.bytes();
  const Refusals refusals = read_refusals(answer);
  std::unique_ptr<transport::Plan> plan;
  std::string why_not;
  try {
    plan = sending.offers.at(transport)->connect(blob);
  } catch (const std::exception& failure) {
    sending.offers.erase(transport);
    why_not = error_of(failure).text();
  }
  const bool connected = plan != nullptr;
  if (connected) {
    const transport::Plan& path = *plan;
    sending.operation->take_match({}, std::move(plan), transport);
    note_pair(path, transport, sending.refusals, refusals);
  }
  LetterWriter confirm;
  confirm.value(LetterKind::confirm).value(receiver_id).value(connected).text(why_not);
  write(sending.operation->recording().peer_world, *sending.job, confirm);
  return connected;
}

}  // namespace penstock::core
