// SPDX-License-Identifier: Apache-2.0
// A matched pair as the explorer sees it: how it was matched, and where its words and buffers lie
// in the model's memory.
#pragma once

#include <array>
#include <string>

#include "protocol/model/memory.hpp"

namespace penstock::explorer {

using protocol::Epoch;
using protocol::Mode;
using protocol::Side;
using protocol::Word;

enum class Path : std::uint8_t { ring, rendezvous, window };
enum class ClaimBy : std::uint8_t { exchange, flags };

constexpr unsigned max_pairs = 4;
constexpr unsigned max_endpoints = 2 * max_pairs;
constexpr unsigned no_place = 0xff;

struct PairSpec {
  Path path = Path::ring;
  Mode mode = Mode::standard;
  ClaimBy claim = ClaimBy::exchange;
  unsigned slots = 2;
  unsigned lines = 1;
  unsigned flag_bits = 2;
  bool checks_ready = false;
  bool deferred = false;  // ring, window: as kernels run it (protocol::Deferred)
  // Of these a ring: the send has a wait of its own, as in kernels of programs, whose starts must
  // not be held up.
  bool send_waits = false;
  bool shares = false;     // rendezvous: the side that waits helps to copy; each line is a part
  bool may_close = false;  // a side may be released or freed early: the pair has CLOSED words
  // Rendezvous that may close: a receive that is given up waits until no copy is under way
  // (protocol::EndsUntouched). Then nothing at all may come into a buffer in new use.
  bool untouched = false;
  // Rendezvous that may close: any copy of a message or a part may be refused.
  bool copy_may_fail = false;
  // Window, bit e: epoch e moves from memory to memory, each line a part. The others go by lines
  // behind HEAD.
  std::uint32_t direct = 0;
  // Window, bit e: of epoch e the program promises that its post runs before its complete.
  std::uint32_t promised = 0;
  // Window: the program stores into the target's memory itself, between open and complete.
  bool stored = false;

  // Of a slot.
  unsigned slot_lines() const { return path == Path::window ? lines + 1 : lines; }
  bool moves_directly(Epoch epoch) const {
    return path == Path::rendezvous || (path == Path::window && (direct >> epoch & 1) != 0);
  }
};

struct PairPlaces {
  std::array<std::uint8_t, 9> words{};   // by Word
  std::uint8_t pushed_parts = no_place;  // which parts are left, where copies are shared
  std::uint8_t pulled_parts = no_place;
  std::array<std::uint8_t, 2> parts{no_place, no_place};  // window: PART
  std::array<std::uint8_t, 2> reused{
      no_place, no_place};                 // by Side: 1 once its user has taken the buffer back
  std::array<std::uint8_t, 8> flags{};     // slot * lines of a slot + line
  std::array<std::uint8_t, 8> slots{};     // cells
  std::array<std::uint8_t, 2> outgoing{};  // the send buffer, a cell a line
  std::array<std::uint8_t, 2> incoming{};  // the receive buffer
};

// What user data may be found in a cell.
// What a receiver put into its buffer before starting the receive.
constexpr Value untouched = 0xdd;
constexpr Value garbage = 0xcc;  // what is copied from a buffer in new use
// What a sender puts into its buffer as soon as its wait has ended.
constexpr Value overwritten = 0xee;

// Adds the pair's places to the memory's shape. Each word is read by one side only.
PairPlaces place_pair(const PairSpec& spec, Shape& shape, std::uint8_t sender_threads,
                      std::uint8_t receiver_threads);

std::string describe(const PairSpec& spec);
const char* name_of(Word word);
inline unsigned endpoint_of(unsigned pair, Side side) {
  return 2 * pair + static_cast<unsigned>(side);
}
inline unsigned pair_of(unsigned endpoint) {
  return endpoint / 2;
}
inline Side side_of(unsigned endpoint) {
  return static_cast<Side>(endpoint % 2);
}

}  // namespace penstock::explorer
