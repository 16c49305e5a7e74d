// SPDX-License-Identifier: Apache-2.0
#include "peer/lane_board.hpp"

#include <algorithm>
#include <utility>

#include "base/shared_word.hpp"
#include "peer/peer.hpp"

namespace penstock::peer {

LaneBoard::LaneBoard(Peer& peer) : peer_(peer) {
  pages_.push_back(peer_.hold(sizeof(LanePage), nullptr));
}

// Whatever can fail comes before anything is shown.
Lane LaneBoard::add(int source, int tag, const LaneShape& shape) {
  Holding memory = peer_.hold(Lane::bytes_for(shape), nullptr);
  lanes_.reserve(lanes_.size() + 1);
  LaneEntry& entry = new_entry();
  entry = {source, tag, shape, false, memory.place(), {}};
  const Lane lane(memory.block(), shape);
  lanes_.push_back(std::move(memory));
  show();
  return lane;
}

void LaneBoard::add_elsewhere(int source, int tag, const LaneShape& shape,
                              std::span<const std::byte> record) {
  LaneEntry& entry = new_entry();
  entry = {source, tag, shape, true, {}, {}};
  std::copy(record.begin(), record.end(), entry.record.begin());
  show();
}

LaneEntry& LaneBoard::new_entry() {
  if (last_page().count == LanePage::entries_of_page) {
    pages_.reserve(pages_.size() + 1);
    Holding page = peer_.hold(sizeof(LanePage), nullptr);
    LanePage& full = last_page();
    full.next = page.place();
    base::store(full.more, 1);
    pages_.push_back(std::move(page));
  }
  LanePage& page = last_page();
  return page.entries[page.count];
}

void LaneBoard::show() noexcept {
  LanePage& page = last_page();
  base::store(page.count, page.count + 1);
}

LaneSearch::LaneSearch(const Peer& peer, int rank, const ArenaAddress& board)
    : peer_(&peer), rank_(rank), page_(reinterpret_cast<const LanePage*>(peer.map(rank, board))) {}

std::optional<Lane> LaneSearch::find(int source, int tag) {
  const LaneEntry* const entry = find_entry(source, tag, false);
  if (entry == nullptr) return std::nullopt;
  return Lane(peer_->map(rank_, entry->place), entry->shape);
}

std::optional<LaneEntry> LaneSearch::find_elsewhere(int source, int tag) {
  const LaneEntry* const entry = find_entry(source, tag, true);
  if (entry == nullptr) return std::nullopt;
  return *entry;
}

// Null: none.
const LaneEntry* LaneSearch::find_entry(int source, int tag, bool elsewhere) {
  const LaneEntry* found = nullptr;
  for (;;) {
    for (const std::uint64_t count = base::load(page_->count); seen_ < count; ++seen_) {
      const LaneEntry& entry = page_->entries[seen_];
      if (entry.source == source && entry.tag == tag && entry.elsewhere == elsewhere)
        found = &entry;
    }
    if (seen_ < LanePage::entries_of_page || base::load(page_->more) == 0) return found;
    page_ = reinterpret_cast<const LanePage*>(peer_->map(rank_, page_->next));
    seen_ = 0;
  }
}

}  // namespace penstock::peer
