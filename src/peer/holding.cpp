// SPDX-License-Identifier: Apache-2.0
#include "peer/holding.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "peer/control.hpp"

namespace penstock::peer {

Holding::Body::Body(Arena& in, std::size_t count, std::shared_ptr<const void> memory)
    : arena(in),
      block(in.allocate(count, cache_line)),
      bytes(count),
      user_memory(std::move(memory)) {
  std::memset(block, 0, bytes);
}

Holding::Holding(Arena& arena, std::size_t bytes, std::shared_ptr<const void> user_memory)
    : body_(std::make_unique<Body>(arena, bytes, std::move(user_memory))) {}

Retired::~Retired() {
  while (take_first()) continue;
}

std::unique_ptr<Holding::Body> Retired::take_first() noexcept {
  std::unique_ptr<Body> body = std::move(first_);
  if (!body) return nullptr;
  first_ = std::move(body->next);
  if (!first_) last_ = nullptr;
  --size_;
  return body;
}

void Retired::put_last(std::unique_ptr<Body> body) noexcept {
  Body* const added = body.get();
  (last_ != nullptr ? last_->next : first_) = std::move(body);
  last_ = added;
  ++size_;
}

void Retired::add(Holding holding, std::function<bool()> over) noexcept {
  if (!holding.body_) return;
  const std::lock_guard lock(mutex_);
  holding.body_->over = std::move(over);
  put_last(std::move(holding.body_));
}

// The function is copied without memory: beside the word it has one pointer alone.
void Retired::add(Holding holding, const std::uint64_t* last_by_peer,
                  const std::atomic<bool>* peer_dead) noexcept {
  add(std::move(holding), [last_by_peer, peer_dead] {
    if (peer_dead != nullptr && peer_dead->load(std::memory_order_acquire)) return true;
    // Acquire: all the peer stored into the block comes before we zero it.
    return std::atomic_ref(*const_cast<std::uint64_t*>(last_by_peer))
               .load(std::memory_order_acquire) != 0;
  });
}

void Retired::sweep_some(std::size_t most) noexcept {
  const std::lock_guard lock(mutex_);
  for (std::size_t looks = std::min(size_, most); looks > 0; --looks)
    if (std::unique_ptr<Body> body = take_first(); !body->over()) put_last(std::move(body));
}

void Retired::sweep() noexcept {
  sweep_some(4);
}

void Retired::sweep_all() noexcept {
  sweep_some(std::numeric_limits<std::size_t>::max());
}

std::size_t Retired::size() const {
  const std::lock_guard lock(mutex_);
  return size_;
}

}  // namespace penstock::peer
