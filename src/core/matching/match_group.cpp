// SPDX-License-Identifier: Apache-2.0
#include "core/matching/match_group.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "core/matched_request.hpp"
#include "group/identity_hash.hpp"

namespace penstock::core {

using base::Error;
using base::ErrorKind;

namespace {

const Collective& collective_of(const MatchedRequest& request) {
  return *request.recording().collective;
}

// The messages have an identity that no communicator of the program's has, and those of another
// choice have another one: they never meet.
std::shared_ptr<const group::Communicator> communicator_for(const Collective& collective,
                                                            std::uint32_t choice) {
  auto communicator = std::make_shared<group::Communicator>();
  communicator->id = group::IdentityHash().add(collective.id()).add(choice).value();
  communicator->known = true;
  communicator->rank = collective.rank();
  communicator->name = collective.label();
  return communicator;
}

Recording recording_of(const CollectiveMessage& message, const Collective& collective,
                       std::shared_ptr<const group::Communicator> communicator) {
  Recording recording;
  recording.kind =
      message.direction == transport::Direction::send ? RequestKind::send : RequestKind::receive;
  recording.call = "a collective's message";
  recording.buffer = message.buffer;
  recording.bytes = message.bytes;
  recording.communicator = std::move(communicator);
  recording.peer = message.peer;
  recording.peer_world = collective.members()[static_cast<std::size_t>(message.peer)];
  recording.tag = message.tag;
  return recording;
}

}  // namespace

void MatchGroup::post(MatchedRequest& request, const std::shared_ptr<MatchJob>& job) {
  const Collective& collective = collective_of(request);
  const Id id = ++last_id_;
  Member& member = members_[id];
  member.request = &request;
  member.job = job;
  member.offer = collective.offer();
  LetterWriter letter;
  letter.value(LetterKind::join).value(id).value(collective.id()).value(collective.rank());
  letter.value(collective.members().size()).bytes(member.offer->record());
  letters_.write(collective.members().front(), *job, letter);
  member.joined = true;
}

// ---- Member 0

void MatchGroup::read_join(int rank, LetterReader& letter) {
  const Id id = letter.value<Id>();
  const auto key = letter.value<Key>();
  const auto member = static_cast<std::size_t>(letter.value<int>());
  const auto members = letter.value<std::size_t>();
  const auto told = letter.bytes();
  Table& table = tables_[key];
  if (table.seats.empty()) table.seats.resize(members);
  if (member >= table.seats.size()) throw Error(ErrorKind::internal, "a member of no rank");
  Seat seat{rank, id, {told.begin(), told.end()}};
  table.seats[member] = std::move(seat);
  ++table.joined;  // who joins again has left before
  if (table.joined == table.seats.size()) choose(key, table, nullptr);
}

// `failed`: why a member cannot carry out what has been chosen before.
void MatchGroup::choose(const Key& key, Table& table, const Error* failed) {
  const auto own = members_.find(table.seats.front().id);
  if (own == members_.end())
    return conclude(key, Error(ErrorKind::not_matched, "member 0 has left"));
  try {
    const Collective& collective = collective_of(*own->second.request);
    if (failed == nullptr) {
      table.told.clear();
      for (Seat& seat : table.seats) table.told.push_back(std::move(seat.told));
      table.choice = collective.choose(table.told, nullptr);
    } else {
      const FailedChoice before{std::move(table.choice), *failed};
      table.choice = collective.choose(table.told, &before);
    }
    ++table.choice_number;
    table.ready = 0;
    for (const Seat& seat : table.seats) {
      LetterWriter letter;
      letter.value(LetterKind::choice)
          .value(seat.id)
          .value(table.choice_number)
          .bytes(table.choice);
      letters_.write(seat.process, *own->second.job, letter);
    }
  } catch (const std::exception& failure) {
    conclude(key, error_of(failure));
  }
}

// Null: the group has come to its end since that letter was written. Where it has begun anew, its
// writer has no seat before the Join that comes behind.
MatchGroup::Table* MatchGroup::find_table(int rank, const Key& key, std::size_t member) {
  const auto found = tables_.find(key);
  if (found == tables_.end()) return nullptr;
  const auto& seats = found->second.seats;
  return member < seats.size() && seats[member].process == rank ? &found->second : nullptr;
}

namespace {

// What tell_first() writes.
struct Report {
  group::CommunicatorId key;
  Error error;
  std::uint32_t choice_number;
  std::size_t member;  // its rank
  bool joined;
};

Report read_report(LetterReader& letter) {
  letter.value<std::uint64_t>();  // the member's number for it
  const auto key = letter.value<group::CommunicatorId>();
  const auto kind = letter.value<ErrorKind>();
  const std::string why = letter.text();
  const auto choice_number = letter.value<std::uint32_t>();
  const auto member = static_cast<std::size_t>(letter.value<int>());
  return {key, Error(kind, why), choice_number, member, letter.value<bool>()};
}

}  // namespace

void MatchGroup::read_ready(int rank, LetterReader& letter) {
  const Report report = read_report(letter);
  Table* const table = find_table(rank, report.key, report.member);
  if (table == nullptr || report.choice_number != table->choice_number) return;
  if (report.error.kind() != ErrorKind::none) return choose(report.key, *table, &report.error);
  if (++table->ready == table->seats.size()) conclude(report.key, Error(ErrorKind::none));
}

void MatchGroup::read_leave(int rank, LetterReader& letter) {
  const Report report = read_report(letter);
  const bool of_this_table = find_table(rank, report.key, report.member) != nullptr;
  const bool waited_for = !report.joined && tables_.contains(report.key);
  if (of_this_table || waited_for) conclude(report.key, report.error);
}

// A member that joins later is of the next match. A letter that cannot be sent keeps the others
// from nobody.
void MatchGroup::conclude(const Key& key, const Error& error) {
  const Table table = std::move(tables_.extract(key).mapped());
  const auto own = members_.find(table.seats.front().id);
  for (const Seat& seat : table.seats) {
    if (seat.process < 0) continue;
    base::log::failures_in([&] {
      LetterWriter letter;
      letter.value(LetterKind::verdict).value(seat.id).value(error.kind()).text(error.text());
      if (own != members_.end() && table.seats.front().process >= 0)
        letters_.write(seat.process, *own->second.job, letter);
      else
        letters_.send(seat.process, letter);
    });
  }
}

// A Join that cannot be read has found no seat, perhaps.
void MatchGroup::cannot_read(int rank, LetterKind kind, std::uint64_t id, const Error& error) {
  if (kind == LetterKind::choice || kind == LetterKind::verdict) {
    if (const auto place = members_.find(id); place != members_.end())
      give_up(*place->second.request, *place->second.job, error);
    return;
  }
  for (const auto& [key, table] : tables_) {
    const auto& seats = table.seats;
    if (std::none_of(seats.begin(), seats.end(),
                     [&](const Seat& seat) { return seat.process == rank && seat.id == id; }))
      continue;
    const Key own = key;  // which goes with its table
    return conclude(own, error);
  }
  if (kind != LetterKind::join) return;
  LetterWriter letter;
  letter.value(LetterKind::verdict).value(id).value(error.kind()).text(error.text());
  letters_.send(rank, letter);
}

// ---- Every member

void MatchGroup::read_choice(LetterReader& letter) {
  const auto place = members_.find(letter.value<Id>());
  const auto number = letter.value<std::uint32_t>();
  const auto choice = letter.bytes();
  if (place == members_.end()) return;  // it has given up
  Member& member = place->second;
  member.choice_number = number;
  attempt(*member.request, member.job, [&] {
    try {
      prepare(member, {choice.begin(), choice.end()});
    } catch (const std::exception& failure) {
      tell_first(member, place->first, LetterKind::ready, error_of(failure));
    }
  });
}

// What has been made for an earlier choice goes. No other uses that, as not all were ready.
void MatchGroup::prepare(Member& member, const transport::WireRecord& choice) {
  end_messages(member, Error(ErrorKind::not_matched, "the members have chosen another algorithm"));
  member.told_ready = false;
  member.part.reset();
  member.part = member.offer->prepare(choice);
  match_messages(member);
}

void MatchGroup::match_messages(Member& member) {
  const Collective& collective = collective_of(*member.request);
  const auto communicator = communicator_for(collective, member.choice_number);
  auto matching = std::make_shared<MatchJob>();
  for (const CollectiveMessage& message : member.part->messages()) {
    member.messages.push_back(
        std::make_unique<MatchedRequest>(recording_of(message, collective, communicator)));
    matching->open.insert(member.messages.back().get());
  }
  jobs_.begin(matching);
  member.matching = matching;
  for (const auto& message : member.messages) {
    message->match_begins();
    post_message(*message, matching);
  }
}

void MatchGroup::post_message(MatchedRequest& message, const std::shared_ptr<MatchJob>& job) {
  try {
    if (message.is_receive())
      receiver_.post(message, job);
    else
      sender_.post(message, job);
  } catch (const std::exception& failure) {
    const Error error = error_of(failure);
    if (message.is_receive())
      receiver_.give_up(message, *job, error);
    else
      sender_.give_up(message, *job, error);
  }
}

void MatchGroup::advance() {
  for (auto next = leaving_.begin(); next != leaving_.end();) {
    const auto place = next++;
    Member& leaver = place->second;
    if (leaver.why_left) end_messages(leaver, *leaver.why_left);
    leaver.why_left.reset();
    if (!leaver.waits_for_verdict()) leaving_.erase(place);
  }
  for (auto next = members_.begin(); next != members_.end();) {
    const auto place = next++;  // who cannot say so leaves
    Member& member = place->second;
    if (!member.matching || member.told_ready) continue;
    if (!member.matching->finished.load(std::memory_order_acquire)) continue;
    member.told_ready = true;
    attempt(*member.request, member.job, [&] {
      const auto& error = member.matching->error;
      tell_first(member, place->first, LetterKind::ready,
                 error ? static_cast<const Error&>(*error) : Error(ErrorKind::none));
    });
  }
}

void MatchGroup::tell_first(const Member& member, Id id, LetterKind kind, const Error& error) {
  const Collective& collective = collective_of(*member.request);
  LetterWriter letter;
  letter.value(kind).value(id).value(collective.id()).value(error.kind()).text(error.text());
  letter.value(member.choice_number).value(collective.rank()).value(member.joined);
  letters_.write(collective.members().front(), *member.job, letter);
}

void MatchGroup::read_verdict(LetterReader& letter) {
  const Id id = letter.value<Id>();
  const auto place = members_.find(id);
  const auto kind = letter.value<ErrorKind>();
  const std::string why = letter.text();
  if (place == members_.end()) {
    const auto left = leaving_.find(id);
    if (left == leaving_.end() || !left->second.waits_for_verdict()) return;
    if (kind == ErrorKind::none) left->second.part->close();
    left->second.part.reset();
    return;
  }
  if (kind == ErrorKind::none) return complete(place);
  const Error error(kind, why);
  Member member = std::move(members_.extract(place).mapped());
  end_messages(member, error);
  jobs_.fail(*member.request, *member.job, error);
}

void MatchGroup::complete(Members::iterator place) {
  Member& member = place->second;
  member.agreed = true;
  attempt(*member.request, member.job, [&] {
    std::string transport = member.part->transport();
    member.ends.reserve(member.messages.size());
    for (const auto& message : member.messages) {
      member.ends.push_back(message->release_plan());
      transport = message->transport();
    }
    MatchResult result;
    result.algorithm = member.part->algorithm();
    member.request->take_match(result, member.part->make_plan(std::move(member.ends)), transport);
    const Member done = std::move(members_.extract(place).mapped());
    jobs_.succeed(*done.request, *done.job);
  });
}

// The others have theirs where all had agreed, and hear that ours are gone.
void MatchGroup::end_messages(Member& member, const Error& why) {
  for (const auto& end : member.ends) end->close();
  member.ends.clear();
  if (!member.matching) return;
  for (const auto& message : member.messages) {
    if (member.matching->open.count(message.get()) == 0) {
      message->give_up_plan();
    } else if (message->is_receive()) {
      receiver_.give_up(*message, *member.matching, why);
    } else {
      sender_.give_up(*message, *member.matching, why);
    }
  }
  member.messages.clear();
  member.matching.reset();
}

void MatchGroup::withdraw(MatchedRequest& request, const Error& why) {
  const auto place = find(request);
  if (place == members_.end()) return;
  Member& leaver = place->second;
  base::log::failures_in([&] { tell_first(leaver, place->first, LetterKind::leave, why); });
  if (leaver.agreed) leaver.part->close();
  leaver.why_left = why;
  leaving_.insert(members_.extract(place));
}

MatchGroup::Members::iterator MatchGroup::find(const MatchedRequest& request) {
  return std::find_if(members_.begin(), members_.end(),
                      [&](const auto& each) { return each.second.request == &request; });
}

std::string MatchGroup::missing(const MatchedRequest& request) const {
  const auto found = tables_.find(collective_of(request).id());
  if (found == tables_.end()) return "its other members";
  std::vector<std::size_t> ranks;
  const auto& seats = found->second.seats;
  for (std::size_t rank = 0; rank < seats.size(); ++rank)
    if (seats[rank].process < 0) ranks.push_back(rank);
  return ranks.empty() ? "its other members" : fmt::format("rank {}", fmt::join(ranks, ", "));
}

}  // namespace penstock::core
