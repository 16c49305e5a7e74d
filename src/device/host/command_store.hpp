// SPDX-License-Identifier: Apache-2.0
// The commands of one host stream: first in, first out, many producers, one consumer (the worker).
// A list of chunks that grows while the worker lags and whose chunks are used again once it has
// caught up.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "device/host/command.hpp"

namespace penstock::device::host {

// A producer reserves a slot by raising the tail chunk's count; a count of `slots` or more says
// that the chunk is closed, and the producer appends the next one under a lock. Memory orders and
// their reasons:
//
//   CommandSlot::word: release/acquire orders the operands before the worker's use of them. Its top
//   bit is the chunk's lap: each slot is written once a lap, so a stale word always shows the other
//   lap.
//
//   CommandChunk::count: who reserves a slot of a lap has acquired the store that opened it, and
//   sees its `lap`. A slow producer may raise the count of a chunk that has been used up: it finds
//   it closed, or opened anew, and then its slot is as good as any. Therefore a chunk is linked
//   behind its predecessor before it is opened.
//
//   CommandChunk::next, tail_: release/acquire orders the chunk's construction, and for the worker
//   its `lap`.
//
// A chunk becomes spare only when the worker has taken all its commands, under the lock that the
// next user takes: so nobody reads `lap` while it is changed, and chunks are not freed before the
// store is. Order of one producer: it sees, with the opening of the chunk that it used last, the
// closing of all earlier ones; so its next slot lies behind.
class CommandStore {
 public:
  CommandStore();
  ~CommandStore();

  // Any thread, several at once. Throws Error(resources) when the store has to grow and cannot.
  void push(const Command& command) {
    CommandChunk* chunk = tail_.load(std::memory_order_acquire);
    std::uint64_t slot = chunk->count.fetch_add(1, std::memory_order_acquire);
    if (slot >= slots) [[unlikely]] {
      const CommandPosition place = reserve_slowly();
      chunk = place.chunk;
      slot = place.slot;
    }
    CommandSlot& to = chunk->slot[slot];
    to.object = command.object;
    to.context = command.context;
    to.value = command.value;
    to.word.store(pack(command.step, chunk->lap), std::memory_order_release);
  }

  // Throws Error(resources) unless that many commands can be pushed without asking for memory. That
  // holds until another thread pushes.
  void make_room(std::size_t commands) {
    const CommandChunk* const tail = tail_.load(std::memory_order_acquire);
    if (tail->count.load(std::memory_order_relaxed) + commands > slots) [[unlikely]]
      make_room_slowly(commands);
  }

  // How many commands have been pushed. Any thread; takes the lock.
  std::uint64_t pushed() const;

  // The worker only: true if there is a command to take.
  bool ready() noexcept {
    if (slot_ == slots && !next_chunk()) [[unlikely]]
      return false;
    word_ = chunk_->slot[slot_].word.load(std::memory_order_acquire);
    return word_ >> lap_bit == lap_;
  }
  // The worker only, after ready().
  Command take() noexcept {
    const CommandSlot& from = chunk_->slot[slot_++];
    return {unpack(word_), from.object, from.context, from.value};
  }

 private:
  static constexpr std::size_t slots = 512;
  static constexpr std::size_t line = 64;
  // No address of a program has the top bit set.
  static constexpr unsigned lap_bit = 63;
  static_assert(sizeof(Step) == sizeof(std::uint64_t));

  struct alignas(32) CommandSlot {
    std::atomic<std::uint64_t> word{0};
    void* object = nullptr;
    void* context = nullptr;
    std::uint64_t value = 0;
  };
  struct CommandChunk {
    alignas(line) std::atomic<std::uint64_t> count{slots};
    std::uint64_t lap = 0;   // 0 or 1, in turn
    std::uint64_t base = 0;  // commands pushed before this lap; under the lock
    alignas(line) std::atomic<CommandChunk*> next{nullptr};
    CommandChunk* spare = nullptr;  // the next one that is free; under the lock
    alignas(line) std::array<CommandSlot, slots> slot;
  };
  struct CommandPosition {
    CommandChunk* chunk;
    std::uint64_t slot;
  };

  static std::uint64_t pack(Step step, std::uint64_t lap) noexcept {
    return reinterpret_cast<std::uintptr_t>(step) | lap << lap_bit;
  }
  static Step unpack(std::uint64_t word) noexcept {
    return reinterpret_cast<Step>(
        static_cast<std::uintptr_t>(word & ~(std::uint64_t{1} << lap_bit)));
  }
  CommandPosition reserve_slowly();
  void make_room_slowly(std::size_t commands);
  static CommandChunk* new_chunk();
  CommandChunk* unused_chunk();
  bool next_chunk() noexcept;

  // Written once a chunk, read by every producer.
  alignas(line) std::atomic<CommandChunk*> tail_;
  mutable std::mutex mutex_;
  CommandChunk* spare_ = nullptr;

  // The worker's own.
  alignas(line) CommandChunk* chunk_;
  std::size_t slot_ = 0;
  std::uint64_t lap_ = 1;
  std::uint64_t word_ = 0;
};

}  // namespace penstock::device::host
