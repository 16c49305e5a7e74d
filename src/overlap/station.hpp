// SPDX-License-Identifier: Apache-2.0
// What each process has in its shared memory for the others: rings that they announce messages in,
// and the words that they answer its own messages by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>

#include "group/communicator.hpp"
#include "peer/exposed_memory.hpp"

namespace penstock::overlap {

inline constexpr unsigned ring_slots = 8;
inline constexpr std::uint32_t answers = 4096;  // words in a block of them

// What a sender announces a message by.
struct Announcement {
  group::CommunicatorId communicator;
  std::int32_t source = 0;  // the sender's rank in it
  std::int32_t tag = 0;
  std::uint64_t bytes = 0;
  peer::MemoryRecord buffer;  // its lowest byte
  // Where the sender has the list of its segments; 0: no gaps.
  std::uint64_t list = 0;
  std::uint32_t segments = 0;
  std::uint32_t answer = 0;  // which of the sender's words is awaited, of all its blocks
  peer::ArenaAddress more;   // where that is not the station's: the block that the word is in
  std::uint64_t list_bytes = 0;
  std::int64_t extent = 0;
  std::uint64_t number = 0;  // of all that the sender has announced; what it is told by
};

struct alignas(64) Ring {
  std::uint64_t heads[ring_slots];
  // How many messages the sender has begun to this receiver. Some of them may not be announced yet.
  alignas(64) std::uint64_t begun;
  alignas(64) Announcement lines[ring_slots];
};

// Of a block of them that is no station's.
inline std::uint64_t* words_of(std::byte* block) noexcept {
  return std::launder(reinterpret_cast<std::uint64_t*>(block));
}

// The words and rings of one process, wherever they are mapped.
class Station {
 public:
  Station() = default;
  Station(std::byte* block, int processes) noexcept
      : block_(block), processes_(static_cast<std::size_t>(processes)) {}

  static std::size_t bytes_for(int processes) noexcept {
    const Station shape(nullptr, processes);
    return shape.answers_at() + answers * sizeof(std::uint64_t);
  }

  std::uint32_t& asleep() const noexcept { return *at<std::uint32_t>(0); }  // the engine's thread
  // A thread of the program, in a call that waits: to be woken by what is announced or answered.
  std::uint32_t& dozing() const noexcept { return *at<std::uint32_t>(line); }
  // Bit r of all these words: process r has rung.
  std::size_t rung_words() const noexcept { return (processes_ + 63) / 64; }
  std::uint64_t& rung(std::size_t word) const noexcept {
    return *at<std::uint64_t>(2 * line + word * sizeof(std::uint64_t));
  }
  Ring& ring(int sender) const noexcept {
    return *at<Ring>(rings_at() + static_cast<std::size_t>(sender) * sizeof(Ring));
  }
  // How many of our lines that process has taken.
  std::uint64_t& taken(int receiver) const noexcept {
    return *at<std::uint64_t>(taken_at() + static_cast<std::size_t>(receiver) * line);
  }
  std::uint64_t& answer(std::uint32_t which) const noexcept {
    return *at<std::uint64_t>(answers_at() + which * sizeof(std::uint64_t));
  }

 private:
  static constexpr std::size_t line = 64;

  static std::size_t whole_lines(std::size_t bytes) noexcept {
    return (bytes + line - 1) / line * line;
  }
  std::size_t rings_at() const noexcept {
    return 2 * line + whole_lines(rung_words() * sizeof(std::uint64_t));
  }
  std::size_t taken_at() const noexcept { return rings_at() + processes_ * sizeof(Ring); }
  std::size_t answers_at() const noexcept { return taken_at() + processes_ * line; }
  template <class T>
  T* at(std::size_t offset) const noexcept {
    return std::launder(reinterpret_cast<T*>(block_ + offset));
  }

  std::byte* block_ = nullptr;
  std::size_t processes_ = 0;
};

}  // namespace penstock::overlap
