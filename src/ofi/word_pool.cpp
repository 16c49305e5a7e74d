// SPDX-License-Identifier: Apache-2.0
#include "ofi/word_pool.hpp"

#include <utility>

namespace penstock::ofi {

WordPool::Position WordPool::take() {
  if (free_.empty()) {
    auto chunk = std::make_unique<WordChunk>();
    chunk->region = Region(fabric_, chunk->words.data(), sizeof(chunk->words));
    free_.reserve((chunks_.size() + 1) * per_chunk);
    chunks_.push_back(std::move(chunk));
    for (PairWords& words : chunks_.back()->words)
      free_.push_back({&words, &chunks_.back()->region});
  }
  const Position place = free_.back();
  free_.pop_back();
  *place.words = PairWords{};
  return place;
}

void WordPool::give(const Position& place) noexcept {
  free_.push_back(place);
}

}  // namespace penstock::ofi
