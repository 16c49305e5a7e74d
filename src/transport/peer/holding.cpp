// SPDX-License-Identifier: Apache-2.0
#include "transport/peer/holding.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "transport/peer/control.hpp"

namespace penstock::transport::peer {

Holding::Holding(Arena& arena, std::size_t bytes, std::shared_ptr<const void> user_memory)
    : arena_(&arena), block_(arena.allocate(bytes, cache_line)), bytes_(bytes), user_memory_(std::move(user_memory)) {
  std::memset(block_, 0, bytes);
}

Holding& Holding::operator=(Holding&& other) noexcept {
  if (this == &other) return *this;
  reset();
  arena_ = other.arena_;
  block_ = std::exchange(other.block_, nullptr);
  bytes_ = other.bytes_;
  user_memory_ = std::move(other.user_memory_);
  return *this;
}

void Holding::reset() noexcept {
  if (block_ != nullptr) arena_->free(block_);
  block_ = nullptr;
  user_memory_.reset();
}

void Retired::add(Holding holding, const std::uint64_t* last_by_peer, const std::atomic<bool>* peer_dead) {
  const std::lock_guard lock(mutex_);
  entries_.push_back({std::move(holding), last_by_peer, peer_dead});
}

// Acquire: all the peer stored into the block comes before we zero it.
bool Retired::Entry::over() const noexcept {
  if (peer_dead != nullptr && peer_dead->load(std::memory_order_acquire)) return true;
  return std::atomic_ref(*const_cast<std::uint64_t*>(last_by_peer)).load(std::memory_order_acquire) != 0;
}

void Retired::sweep_some(std::size_t most) {
  const std::lock_guard lock(mutex_);
  for (std::size_t looks = std::min(entries_.size(), most); looks > 0; --looks) {
    Entry entry = std::move(entries_.front());
    entries_.pop_front();
    if (!entry.over()) entries_.push_back(std::move(entry));
  }
}

void Retired::sweep() {
  sweep_some(4);
}

void Retired::sweep_all() {
  sweep_some(std::numeric_limits<std::size_t>::max());
}

std::size_t Retired::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace penstock::transport::peer
