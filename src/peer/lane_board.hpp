// SPDX-License-Identifier: Apache-2.0
// The lanes that a process has made for those who send to it: a list in its shared memory, which
// only grows. A receiver hangs out a lane when it first expects messages of an envelope; a sender
// looks when it first has one. So neither sends the other a word about it, nor waits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/no_copy.hpp"
#include "peer/arena.hpp"
#include "peer/holding.hpp"
#include "peer/lane.hpp"

namespace penstock::peer {

class Peer;

// Whose messages a lane brings: the sender's rank, as the users of the board count them, and a tag.
struct LaneEntry {
  std::int32_t source = 0;
  std::int32_t tag = 0;
  LaneShape shape;
  bool elsewhere = false;  // not in shared memory: the record tells its users where
  ArenaAddress place;
  std::array<std::byte, 160> record;
};

// `count` and `more` by release, behind what they tell of.
struct LanePage {
  static constexpr std::uint64_t entries_of_page = 60;
  std::uint64_t count;
  std::uint64_t more;  // not 0: `next` is the next page
  ArenaAddress next;
  LaneEntry entries[entries_of_page];
};

class LaneBoard : private base::NoCopy {
 public:
  explicit LaneBoard(Peer& peer);  // throws base::Error(resources), as add() does
  ArenaAddress place() const { return pages_.front().place(); }
  // One call at a time.
  Lane add(int source, int tag, const LaneShape& shape);
  // A lane whose memory is the caller's. The record is small.
  void add_elsewhere(int source, int tag, const LaneShape& shape,
                     std::span<const std::byte> record);

 private:
  LaneEntry& new_entry();
  void show() noexcept;  // the new entry
  LanePage& last_page() noexcept { return *reinterpret_cast<LanePage*>(pages_.back().block()); }

  Peer& peer_;
  std::vector<Holding> pages_, lanes_;
};

// A reader's place in another process's board.
class LaneSearch {
 public:
  LaneSearch() = default;
  LaneSearch(const Peer& peer, int rank, const ArenaAddress& board);
  // The last lane for that envelope which has been hung out since the last look; nothing: none has.
  // A search finds lanes in shared memory, or those elsewhere.
  std::optional<Lane> find(int source, int tag);
  std::optional<LaneEntry> find_elsewhere(int source, int tag);

 private:
  const LaneEntry* find_entry(int source, int tag, bool elsewhere);

  const Peer* peer_ = nullptr;
  int rank_ = -1;  // in the world, of the board's process
  const LanePage* page_ = nullptr;
  std::uint64_t seen_ = 0;  // entries of the page
};

}  // namespace penstock::peer
