// SPDX-License-Identifier: Apache-2.0
#include "core/matching/match_letters.hpp"

#include <algorithm>

namespace penstock::core {

std::uint64_t MatchLetters::post(int rank, LetterWriter& letter) {
  return silent_ ? 0 : mailbox_.send(rank, letter.take());
}

void MatchLetters::write(int rank, MatchJob& job, LetterWriter& letter) {
  std::uint64_t& last = job.last_letters[rank];
  last = post(rank, letter);
}

void MatchLetters::send(int rank, LetterWriter& letter) {
  post(rank, letter);
}

bool MatchLetters::have_left(const MatchJob& job) const {
  return std::all_of(job.last_letters.begin(), job.last_letters.end(), [this](const auto& letters) {
    return gone(letters.first) || mailbox_.flushed(letters.first, letters.second);
  });
}

bool MatchLetters::dead(int rank) const {
  return world_.dead(rank).load(std::memory_order_acquire);
}

bool MatchLetters::gone(int rank) const {
  return dead(rank) || mailbox_.lost(rank) || why_lost(rank) != nullptr;
}

bool MatchLetters::anybody_gone() const {
  return world_.anybody_dead() || mailbox_.any_lost() || !unreadable_.empty();
}

const std::string* MatchLetters::why_lost(int rank) const {
  const auto found = unreadable_.find(rank);
  return found == unreadable_.end() ? nullptr : &found->second;
}

}  // namespace penstock::core
