// SPDX-License-Identifier: Apache-2.0
// Set-up, the tables that both kinds of threads look at, and how messages end.
#include "overlap/engine.hpp"

#include <cstdint>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

namespace penstock::overlap {

using base::ErrorKind;

Engine::Engine(const base::Settings& settings, group::World& world, peer::Peer& peer)
    : least_bytes_(settings.overlap_min),
      policy_(settings.overlap_policy),
      world_(world),
      peer_(peer),
      rank_(world.rank()),
      courier_(peer),
      core_is_free_(settings.overlap_policy != base::OverlapPolicy::never) {
  connect(peer);
}

// Every process tells where its words are, and whom it reaches.
void Engine::connect(peer::Peer& peer) {
  const auto size = static_cast<std::size_t>(world_.size());
  struct Introduction {
    std::uint64_t there = 0;
    peer::ArenaAddress place;
  };
  std::vector<std::byte> mine(sizeof(Introduction) + size);
  world_.together([&] {
    partners_.resize(size);
    served_.assign(size * size, false);
    Introduction introduction;
    if (peer.shared_memory() != nullptr) {
      block_ = peer.hold(Station::bytes_for(world_.size()), nullptr);
      station_ = Station(block_.block(), world_.size());
      introduction = {1, block_.place()};
      for (std::size_t rank = 0; rank < size; ++rank)
        mine[sizeof introduction + rank] =
            std::byte{courier_.serves(static_cast<int>(rank)) ? std::uint8_t{1} : std::uint8_t{0}};
    }
    std::memcpy(mine.data(), &introduction, sizeof introduction);
    free_answers_.resize(answers);
    for (std::uint32_t i = 0; i < answers; ++i) free_answers_[i] = answers - 1 - i;
    sent_.reserve(answers);
  });
  const auto all = world_.all_gather(mine);
  world_.together([&] {
    const auto reaches = [&](std::size_t one, std::size_t other) {
      return all[one][sizeof(Introduction) + other] != std::byte{0};
    };
    for (std::size_t one = 0; one < size; ++one)
      for (std::size_t other = 0; other < size; ++other)
        served_[one * size + other] = reaches(one, other) && reaches(other, one);
    for (std::size_t rank = 0; rank < size; ++rank) {
      if (!serves(rank_, static_cast<int>(rank))) continue;
      Introduction theirs;
      std::memcpy(&theirs, all[rank].data(), sizeof theirs);
      Partner& partner = partners_[rank];
      partner.station =
          Station(peer.map(static_cast<int>(rank), theirs.place), static_cast<int>(size));
      partner.to = &partner.station.ring(rank_);
    }
  });
}

// Who has answered the last message may still be about to wake this process: nobody else is to
// have its words as long as others map them.
Engine::~Engine() {
  if (thread_.joinable()) {
    stopping_.store(true, std::memory_order_relaxed);
    ring_thread();
    thread_.join();
  }
  const auto never = [] { return false; };
  if (connected()) peer_.retired().add(std::move(block_), never);
  for (peer::Holding& each : more_answers_) peer_.retired().add(std::move(each), never);
}

bool Engine::serves(int one, int other) const noexcept {
  const auto size = partners_.size();
  const auto from = static_cast<std::size_t>(one), to = static_cast<std::size_t>(other);
  return from < size && to < size && served_[from * size + to];
}

std::optional<std::pair<int, int>> Engine::apart() const noexcept {
  const auto size = static_cast<int>(partners_.size());
  for (int one = 0; one < size; ++one)
    for (int other = one; other < size; ++other)
      if (!serves(one, other)) return std::pair(one, other);
  return std::nullopt;
}

// ---- The tables

std::optional<Arrival> Engine::probe(const core::Envelope& key, bool take) {
  const std::lock_guard lock(mutex_);
  look();
  tell_thread(Caller::passing);
  if (take) return unexpected_.take(key);
  std::optional<Arrival> found;
  unexpected_.for_each([&](const core::Envelope& envelope, const Arrival& arrival) {
    if (!found && key.accepts(envelope)) found = arrival;
  });
  return found;
}

bool Engine::cancel(Receive& message) noexcept {
  const std::lock_guard lock(mutex_);
  look();
  tell_thread(Caller::passing);
  if (message.matched || message.over || unmatched_.erase(&message) == 0) return false;
  posted_.withdraw(envelope_of(message), &message);
  message.cancelled = true;
  end(message);
  return true;
}

void Engine::advance(Caller caller) noexcept {
  for (;;) {
    Receive* message = nullptr;
    {
      const std::lock_guard lock(mutex_);
      look();
      message = claim_for(caller);
      if (message == nullptr) return tell_thread(caller);
    }
    pull(*message, caller);
    if (caller == Caller::passing) return;
  }
}

bool Engine::look() noexcept {
  bool moved = take_lines();
  moved |= look_at_answers();
  if (!with_waiting_.empty())
    for (auto each = with_waiting_.begin(); each != with_waiting_.end();) {
      const int process = *each;
      moved |= announce_waiting(process);
      each = partners_[static_cast<std::size_t>(process)].waiting.empty()
                 ? with_waiting_.erase(each)
                 : std::next(each);
    }
  if (world_.anybody_dead()) moved |= look_at_the_dead();
  if (moved) last_news_ = Clock::now();
  return moved;
}

// Behind all that they have said.
bool Engine::look_at_the_dead() noexcept {
  bool moved = false;
  for (std::size_t rank = 0; rank < partners_.size(); ++rank) {
    Partner& partner = partners_[rank];
    if (partner.dead || !world_.dead(static_cast<int>(rank)).load(std::memory_order_acquire))
      continue;
    take_lines_of(static_cast<int>(rank));
    look_at_answers();
    partner.dead = moved = true;
  }
  constexpr char has_ended[] = ": that process has ended: see its output";
  const auto dead = [&](int rank) {
    return rank >= 0 && partners_[static_cast<std::size_t>(rank)].dead;
  };
  std::erase_if(sent_, [&](Send* each) {
    if (!dead(each->peer_world)) return false;
    free_answers_.push_back(each->announced.answer);
    fail(*each, ErrorKind::peer_dead, has_ended);
    end(*each);
    return moved = true;
  });
  for (Partner& partner : partners_) {
    if (!partner.dead) continue;
    for (Send* const each : partner.waiting) {
      fail(*each, ErrorKind::peer_dead, has_ended);
      end(*each);
    }
    partner.waiting.clear();
  }
  std::erase_if(unmatched_, [&](Receive* each) {
    if (!dead(each->peer_world)) return false;
    posted_.withdraw(envelope_of(*each), each);
    fail(*each, ErrorKind::peer_dead, has_ended);
    end(*each);
    return moved = true;
  });
  return moved;
}

void Engine::note_beginning(Message& message) noexcept {
  message.begun = Clock::now();
  message.serial = ++serials_;
}

void Engine::fail(Message& message, ErrorKind kind, const char* why) noexcept {
  message.error = base::error_by(kind, [&] { return message.label() + why; });
}

void Engine::end(Message& message) noexcept {
  message.over = true;
  ++news_;
  if (!message.listed) return;
  message.next_ended = nullptr;
  (last_ended_ != nullptr ? last_ended_->next_ended : first_ended_) = &message;
  last_ended_ = &message;
}

std::uint64_t Engine::news() noexcept {
  const std::lock_guard lock(mutex_);
  return news_;
}

bool Engine::ended(Message& message) noexcept {
  const std::lock_guard lock(mutex_);
  return message.over;
}

Message* Engine::take_ended() noexcept {
  const std::lock_guard lock(mutex_);
  Message* const taken = first_ended_;
  if (taken == nullptr) return nullptr;
  first_ended_ = taken->next_ended;
  if (first_ended_ == nullptr) last_ended_ = nullptr;
  return taken;
}

bool Engine::idle() noexcept {
  const std::lock_guard lock(mutex_);
  look();
  tell_thread(Caller::passing);
  return sent_.empty() && with_waiting_.empty() && ready_.empty();
}

}  // namespace penstock::overlap
