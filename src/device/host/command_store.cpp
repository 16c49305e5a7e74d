// SPDX-License-Identifier: Apache-2.0
#include "device/host/command_store.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/error.hpp"

namespace penstock::device::host {

CommandStore::CommandStore() {
  auto* const first = new CommandChunk;
  first->lap = lap_;
  first->count.store(0, std::memory_order_relaxed);
  tail_.store(first, std::memory_order_relaxed);
  chunk_ = first;
}

// Nobody pushes any more: what is not free is linked from the worker's chunk on.
CommandStore::~CommandStore() {
  for (CommandChunk* chunk = chunk_; chunk != nullptr;) {
    delete std::exchange(chunk, chunk->next.load(std::memory_order_relaxed));
  }
  while (spare_ != nullptr) delete std::exchange(spare_, spare_->spare);
}

std::uint64_t CommandStore::pushed() const {
  const std::lock_guard lock(mutex_);
  const CommandChunk* const tail = tail_.load(std::memory_order_relaxed);
  return tail->base + std::min<std::uint64_t>(tail->count.load(std::memory_order_relaxed), slots);
}

CommandStore::CommandChunk* CommandStore::new_chunk() {
  try {
    return new CommandChunk;
  } catch (const std::bad_alloc&) {
    throw base::Error(base::ErrorKind::resources,
                      "no memory for the commands of a stream; enqueue less ahead");
  }
}

// Called with the lock held.
CommandStore::CommandChunk* CommandStore::unused_chunk() {
  if (spare_ != nullptr) return std::exchange(spare_, spare_->spare);
  return new_chunk();
}

void CommandStore::make_room_slowly(std::size_t commands) {
  const std::lock_guard lock(mutex_);
  std::size_t room =
      slots -
      std::min<std::uint64_t>(
          tail_.load(std::memory_order_relaxed)->count.load(std::memory_order_relaxed), slots);
  for (const CommandChunk* chunk = spare_; chunk != nullptr; chunk = chunk->spare) room += slots;
  for (; room < commands; room += slots) {
    CommandChunk* const chunk = new_chunk();
    chunk->spare = spare_;
    spare_ = chunk;
  }
}

CommandStore::CommandPosition CommandStore::reserve_slowly() {
  const std::lock_guard lock(mutex_);
  CommandChunk* const tail = tail_.load(std::memory_order_relaxed);
  // Another producer may have appended a chunk meanwhile.
  const std::uint64_t slot = tail->count.fetch_add(1, std::memory_order_acquire);
  if (slot < slots) return {tail, slot};

  CommandChunk* const chunk = unused_chunk();
  chunk->lap ^= 1;
  chunk->base = tail->base + slots;
  chunk->next.store(nullptr, std::memory_order_relaxed);
  tail->next.store(chunk, std::memory_order_release);
  chunk->count.store(1, std::memory_order_release);  // open, and the first slot is ours
  tail_.store(chunk, std::memory_order_release);
  return {chunk, 0};
}

bool CommandStore::next_chunk() noexcept {
  CommandChunk* const next = chunk_->next.load(std::memory_order_acquire);
  if (next == nullptr) return false;
  {
    const std::lock_guard lock(mutex_);
    chunk_->spare = spare_;
    spare_ = chunk_;
  }
  chunk_ = next;
  slot_ = 0;
  lap_ = next->lap;
  return true;
}

}  // namespace penstock::device::host
