// SPDX-License-Identifier: Apache-2.0
#include "unit/coll/simulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace penstock::coll {

namespace {

std::vector<int> each_its_own(std::size_t ranks) {
  std::vector<int> owners(ranks);
  std::iota(owners.begin(), owners.end(), 0);
  return owners;
}

void drop(std::vector<Region>& regions, const Region& region) {
  regions.erase(std::find(regions.begin(), regions.end(), region));
}

std::size_t most_phases(const std::vector<Schedule>& schedules) {
  std::size_t most = 0;
  for (const Schedule& each : schedules) most = std::max(most, each.phases.size());
  return most;
}

float load(const std::byte* from) {
  float number = 0;
  std::memcpy(&number, from, sizeof number);
  return number;
}

void apply(const Copy& copy, const std::byte* from, std::byte* to) {
  std::memcpy(to, from, copy.from.bytes);
}

void apply(const Permute& permute, const std::byte* from, std::byte* to) {
  const std::size_t run = permute.run();
  for (std::size_t row = 0; row < permute.rows; ++row)
    for (std::size_t column = 0; column < permute.columns; ++column)
      std::memcpy(to + (column * permute.rows + row) * run,
                  from + (row * permute.columns + column) * run, run);
}

}  // namespace

float combined(float first, float second) {
  return 0.75F * first + second;
}

Simulator::Simulator(const std::vector<Schedule>& schedules, std::vector<RankMemory>& memories,
                     SendMode mode, std::uint32_t seed, std::vector<int> owners)
    : schedules_(schedules),
      memories_(memories),
      mode_(mode),
      owners_(owners.empty() ? each_its_own(schedules.size()) : std::move(owners)),
      random_(seed + 1),
      ranks_(schedules.size()) {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    memories_[rank][Buffer::temporary].assign(schedules[rank].temporary, std::byte{0xEE});
    ranks_[rank].open.resize(schedules[rank].phases.size());
    ranks_[rank].starts.resize(schedules[rank].phases.size());
    ranks_[rank].sends.resize(schedules[rank].phases.size());
  }
}

std::string Simulator::run() {
  match();
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    if (!schedules_[rank].phases.empty()) events_.push_back({Act::begin_phase, rank});
  while (!events_.empty() && complaint_.empty()) {
    std::swap(events_[random_() % events_.size()], events_.back());
    const Event event = events_.back();
    events_.pop_back();
    carry_out(event);
  }
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    if (ranks_[rank].next_phase < schedules_[rank].phases.size())
      complain(fmt::format("rank {} never gets to phase {}", rank, ranks_[rank].next_phase));
  for (const Message& each : messages_)
    if (!each.sent || !each.received) complain("a message has no start");
  return complaint_;
}

void Simulator::match() {
  const std::size_t count = ranks_.size();
  numbers_.assign(most_phases(schedules_) * count * count, -1);
  for (std::size_t rank = 0; rank < count; ++rank) list_messages(static_cast<int>(rank));
  for (const Message& each : messages_) {
    const bool both = each.send != nullptr && each.receive != nullptr;
    if (!both || each.send->region.bytes != each.receive->region.bytes)
      complain(fmt::format("from {} to {} in phase {} there is {}", each.source, each.destination,
                           each.phase, both ? "a receive of another length" : "one end alone"));
  }
}

// Of the first message that lacks that end.
template <class End>
std::size_t Simulator::number_of(int source, int destination, std::size_t phase,
                                 End Message::*end) {
  const std::size_t count = ranks_.size();
  int* number = &numbers_[(phase * count + source) * count + destination];
  while (*number >= 0 && messages_[*number].*end != nullptr) number = &messages_[*number].next;
  if (*number >= 0) return *number;
  *number = static_cast<int>(messages_.size());
  Message message;
  message.source = source;
  message.destination = destination;
  message.phase = phase;
  messages_.push_back(message);
  return messages_.size() - 1;
}

void Simulator::list_messages(int rank) {
  const std::vector<Phase>& phases = schedules_[rank].phases;
  for (std::size_t phase = 0; phase < phases.size(); ++phase) {
    const auto list = [&](const auto& end, auto*& seat) {
      seat = &end;
      ++ranks_[rank].open[phase];
      check_region(rank, end.region);
    };
    for (const Send& send : phases[phase].sends) {
      const std::size_t number = number_of(rank, send.peer, phase, &Message::send);
      list(send, messages_[number].send);
      ranks_[rank].sends[phase].push_back(number);
    }
    for (const Receive& receive : phases[phase].receives) {
      const std::size_t number = number_of(receive.peer, rank, phase, &Message::receive);
      list(receive, messages_[number].receive);
      if (receive.start > phase) return complain("a receive starts after its phase");
      ranks_[rank].starts[receive.start].push_back(number);
    }
  }
}

void Simulator::carry_out(const Event& event) {
  if (event.act == Act::begin_phase)
    begin_phase(event.of);
  else if (event.act == Act::take)
    take(event.of);
  else
    deliver(event.of);
}

void Simulator::begin_phase(std::size_t number) {
  Rank& rank = ranks_[number];
  const std::size_t phase = rank.next_phase++;
  for (const LocalStep& each : schedules_[number].phases[phase].steps) carry_out(number, each);
  for (const std::size_t each : rank.starts[phase]) start_receive(each);
  for (const std::size_t each : rank.sends[phase]) start_send(each);
  if (rank.open[phase] > 0) return;
  if (rank.next_phase == rank.open.size()) return end(number);
  events_.push_back({Act::begin_phase, number});
}

void Simulator::start_receive(std::size_t number) {
  Message& message = messages_[number];
  Rank& rank = ranks_[message.destination];
  const Region& region = message.receive->region;
  check_programs(message.destination, region);
  if (meets(message.destination, &Rank::sending, region) ||
      meets(message.destination, &Rank::receiving, region))
    complain(fmt::format("rank {} receives where a message is", message.destination));
  rank.receiving.push_back(region);
  message.received = true;
  may_deliver(number);
}

void Simulator::start_send(std::size_t number) {
  Message& message = messages_[number];
  Rank& rank = ranks_[message.source];
  check_programs(message.source, message.send->region);
  if (meets(message.source, &Rank::receiving, message.send->region))
    complain(fmt::format("rank {} sends what it still receives", message.source));
  rank.sending.push_back(message.send->region);
  message.sent = true;
  if (mode_ == SendMode::buffered)
    events_.push_back({Act::take, number});
  else
    may_deliver(number);
}

void Simulator::may_deliver(std::size_t number) {
  const Message& message = messages_[number];
  const bool sent = mode_ == SendMode::buffered ? message.taken : message.sent;
  if (sent && message.received) events_.push_back({Act::deliver, number});
}

void Simulator::take(std::size_t number) {
  Message& message = messages_[number];
  const std::byte* const from = at(message.source, message.send->region);
  message.bytes.assign(from, from + message.send->region.bytes);
  message.taken = true;
  end_send(message);
  may_deliver(number);
}

void Simulator::deliver(std::size_t number) {
  const Message& message = messages_[number];
  const Region& region = message.receive->region;
  std::byte* const to = at(message.destination, region);
  if (mode_ == SendMode::buffered) {
    std::copy(message.bytes.begin(), message.bytes.end(), to);
  } else {
    std::copy_n(at(message.source, message.send->region), region.bytes, to);
    end_send(message);
  }
  end_receive(message);
}

void Simulator::end_send(const Message& message) {
  drop(ranks_[message.source].sending, message.send->region);
  end_one(message.source, message.phase);
}

void Simulator::end_receive(const Message& message) {
  drop(ranks_[message.destination].receiving, message.receive->region);
  end_one(message.destination, message.phase);
}

void Simulator::end_one(std::size_t number, std::size_t phase) {
  Rank& rank = ranks_[number];
  if (--rank.open[phase] > 0 || rank.next_phase != phase + 1) return;
  if (rank.next_phase == rank.open.size()) return end(number);
  events_.push_back({Act::begin_phase, number});
}

// Its program has the buffers again: no message of another rank's uses them.
void Simulator::end(std::size_t number) {
  ranks_[number].ended = true;
  for (std::size_t other = 0; other < ranks_.size(); ++other)
    for (const auto messages : {&Rank::sending, &Rank::receiving})
      for (const Region& region : ranks_[other].*messages) check_programs(other, region);
}

void Simulator::carry_out(std::size_t rank, const LocalStep& step) {
  check_step(rank, step);
  if (!complaint_.empty()) return;
  if (const auto* const reduce = std::get_if<Reduce>(&step)) return combine(rank, *reduce);
  const std::byte* const from = at(rank, regions_read(step).front());
  std::byte* const to = at(rank, region_written(step));
  if (const auto* const copy = std::get_if<Copy>(&step)) return apply(*copy, from, to);
  apply(std::get<Permute>(step), from, to);
}

void Simulator::check_step(std::size_t number, const LocalStep& step) {
  const Region to = region_written(step);
  check_region(number, to);
  check_programs(number, to);
  if (to.buffer == Buffer::input) complain("a local step writes the input");
  if (meets(number, &Rank::sending, to) || meets(number, &Rank::receiving, to))
    complain(fmt::format("rank {} writes where a message is", number));
  const bool reduces = std::holds_alternative<Reduce>(step);
  for (const Region& from : regions_read(step)) {
    check_region(number, from);
    check_programs(number, from);
    if (meets(number, &Rank::receiving, from))
      complain(fmt::format("rank {} reads what it still receives", number));
    if (from.bytes != to.bytes) complain("a local step changes the length");
    if (overlap(from, to) && !(reduces && from == to))
      complain("a local step reads what it writes");
  }
}

void Simulator::combine(std::size_t rank, const Reduce& reduce) {
  std::vector<const std::byte*> values;
  for (const Region& from : reduce.from) values.push_back(at(rank, from));
  std::byte* const to = at(rank, reduce.to);
  for (std::size_t offset = 0; offset < reduce.to.bytes; offset += sizeof(float)) {
    float value = load(values.front() + offset);
    for (std::size_t i = 1; i < values.size(); ++i)
      value = combined(value, load(values[i] + offset));
    std::memcpy(to + offset, &value, sizeof value);
  }
}

void Simulator::check_region(std::size_t rank, const Region& region) {
  if (region.end() > memory_of(rank, region.buffer).size())
    complain(fmt::format("rank {} leaves its buffer", rank));
}

bool Simulator::meets(std::size_t rank, std::vector<Region> Rank::*messages,
                      const Region& region) const {
  for (std::size_t other = 0; other < ranks_.size(); ++other) {
    const bool same =
        region.buffer == Buffer::temporary ? other == rank : owners_[other] == owners_[rank];
    const std::vector<Region>& regions = ranks_[other].*messages;
    if (same && std::any_of(regions.begin(), regions.end(),
                            [&](const Region& each) { return overlap(each, region); }))
      return true;
  }
  return false;
}

void Simulator::check_programs(std::size_t rank, const Region& region) {
  if (region.buffer == Buffer::temporary || region.bytes == 0) return;
  for (std::size_t other = 0; other < ranks_.size(); ++other) {
    if (owners_[other] != owners_[rank]) continue;
    if (ranks_[other].next_phase == 0 || ranks_[other].ended)
      complain(fmt::format("rank {} uses a buffer that the program of rank {} has {}", rank, other,
                           ranks_[other].ended ? "again" : "still"));
  }
}

std::vector<std::byte>& Simulator::memory_of(std::size_t rank, Buffer buffer) {
  return memories_[buffer == Buffer::temporary ? rank : owners_[rank]][buffer];
}

std::byte* Simulator::at(std::size_t rank, const Region& region) {
  return memory_of(rank, region.buffer).data() + region.offset;
}

void Simulator::complain(const std::string& text) {
  if (complaint_.empty()) complaint_ = text;
}

}  // namespace penstock::coll
