// SPDX-License-Identifier: Apache-2.0
// The letters of the handshake: see matcher.hpp.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

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

void Matcher::read(int rank, std::span<const std::byte> bytes) {
  LetterReader letter(bytes);
  switch (letter.value<LetterKind>()) {
    case LetterKind::offer:
      return read_offer(rank, letter);
    case LetterKind::answer:
      return read_answer(rank, letter);
    case LetterKind::confirm:
      return read_confirm(letter);
    case LetterKind::withdraw:
      return read_withdrawal(rank, letter);
  }
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
    } catch (const Error& error) {
      sending.refusals.emplace_back(name, error.text());
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
  mailbox_.send(recording.peer_world, letter.take());
}

void Matcher::post_receive(Operation& operation, const std::shared_ptr<MatchJob>& job) {
  const Envelope key = envelope_of(operation.recording());
  Receiving receiving{&operation, job, posted_.next_number()};
  if (auto offer = unexpected_.take(key))
    pair(std::move(receiving), std::move(*offer));
  else
    posted_.post(receiving.number, key, receiving);
}

// ---- The receiver's side

void Matcher::read_offer(int rank, LetterReader& letter) {
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
  Operation& operation = *receiving.operation;
  if (offer.message.bytes > operation.recording().bytes) {
    const Error error(
        ErrorKind::truncate,
        fmt::format("{}: rank {} sends {} bytes with tag {}, the receive holds {}: make the receive larger",
                    operation.label(), offer.envelope.source, offer.message.bytes, offer.envelope.tag,
                    operation.recording().bytes));
    refuse(offer, error);
    fail(operation, *receiving.job, error);
    return;
  }
  answer({std::move(receiving), std::move(offer), {}, nullptr, {}, {}});
}

void Matcher::answer(Answered answered) {
  if (!accept_next(answered)) {
    const Error error(ErrorKind::transport,
                      fmt::format("{}: no transport can serve the pair. Sender's side: {}. Receiver's side: {}",
                                  answered.receiving.operation->label(), text_of(answered.offer.refusals),
                                  text_of(answered.refusals)));
    refuse(answered.offer, error);
    fail(*answered.receiving.operation, *answered.receiving.job, error);
    return;
  }
  const Id id = ++last_id_;
  LetterWriter letter;
  letter.value(LetterKind::answer).value(answered.offer.id).value(id).value(ErrorKind::none);
  letter.text(answered.transport).bytes(answered.acceptance->blob());
  write_refusals(letter, answered.refusals);
  const int sender = answered.offer.sender;
  answered_.emplace(id, std::move(answered));
  mailbox_.send(sender, letter.take());
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
    } catch (const Error& error) {
      answered.refusals.emplace_back(name, error.text());
    }
  }
  return false;
}

void Matcher::refuse(const IncomingOffer& offer, const Error& error) {
  LetterWriter letter;
  letter.value(LetterKind::answer).value(offer.id).value(Id{0}).value(error.kind()).text(error.text());
  mailbox_.send(offer.sender, letter.take());
}

void Matcher::read_confirm(LetterReader& letter) {
  const auto found = answered_.find(letter.value<Id>());
  const auto connected = letter.value<bool>();
  const auto withdrawn = letter.value<bool>();
  const std::string why = letter.text();
  if (found == answered_.end()) return;
  Answered answered = std::move(found->second);
  answered_.erase(found);
  if (!answered.receiving.operation) {  // abandoned while its answer was on the way
    if (connected) answered.acceptance->confirm()->close();
    return;
  }
  if (connected) return complete(std::move(answered));
  answered.acceptance.reset();
  if (!withdrawn) {
    answered.refusals.emplace_back(answered.transport, why);
    return answer(std::move(answered));
  }
  // As if that offer had never been: the receive is posted again, as early as it was.
  const Envelope key = envelope_of(answered.receiving.operation->recording());
  if (auto offer = unexpected_.take(key))
    pair(std::move(answered.receiving), std::move(*offer));
  else
    posted_.post(answered.receiving.number, key, answered.receiving);
}

void Matcher::complete(Answered answered) {
  Operation& operation = *answered.receiving.operation;
  auto plan = answered.acceptance->confirm();
  const transport::Plan& path = *plan;
  operation.matched_to({answered.offer.envelope.source, answered.offer.envelope.tag, answered.offer.message.bytes},
                       std::move(plan), answered.transport);
  log_pair(operation, path, answered.refusals, answered.offer.refusals);
  succeed(operation, *answered.receiving.job);
}

void Matcher::send_withdrawal(int rank, Id id) {
  LetterWriter letter;
  letter.value(LetterKind::withdraw).value(id);
  if (!world_.dead(rank).load(std::memory_order_acquire)) mailbox_.send(rank, letter.take());
}

void Matcher::read_withdrawal(int rank, LetterReader& letter) {
  const auto id = letter.value<Id>();
  unexpected_.take_if([&](const IncomingOffer& offer) { return offer.sender == rank && offer.id == id; });
}

// ---- The sender's side

void Matcher::read_answer(int rank, LetterReader& letter) {
  const auto id = letter.value<Id>();
  const auto receiver_id = letter.value<Id>();
  const auto kind = letter.value<ErrorKind>();
  const auto found = sending_.find(id);
  const auto confirm = [&](bool connected, bool withdrawn, const std::string& why) {
    LetterWriter reply;
    reply.value(LetterKind::confirm).value(receiver_id).value(connected).value(withdrawn).text(why);
    mailbox_.send(rank, reply.take());
  };
  if (found == sending_.end()) {  // withdrawn while the answer was on its way
    if (kind == ErrorKind::none) confirm(false, true, "");
    return;
  }
  Sending& sending = found->second;
  if (kind != ErrorKind::none) {
    const Error error(kind, letter.text());
    Operation& operation = *sending.operation;
    const auto job = sending.job;
    sending_.erase(found);
    fail(operation, *job, Error(kind, operation.label() + ", refused by the receiver: " + error.text()));
    return;
  }
  const std::string transport = letter.text();
  const auto blob = letter.bytes();
  const Refusals refusals = read_refusals(letter);
  try {
    auto plan = sending.offers.at(transport)->connect(blob);
    Operation& operation = *sending.operation;
    const auto job = sending.job;
    const transport::Plan& path = *plan;
    operation.matched_to({}, std::move(plan), transport);
    log_pair(operation, path, sending.refusals, refusals);
    sending_.erase(found);
    confirm(true, false, "");
    succeed(operation, *job);
  } catch (const std::exception& failure) {
    sending.offers.erase(transport);
    confirm(false, false, failure.what());
  }
}

}  // namespace penstock::core
