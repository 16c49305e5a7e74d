// SPDX-License-Identifier: Apache-2.0
// One end of a pair holds this block in our arena. When the end is freed the peer may still store
// into it (a late FIN, a claim). So it is reused after the peer's last store: CLOSED, or GONE where
// kernels store.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "peer/arena.hpp"

namespace penstock::peer {

class Holding {
 public:
  Holding() = default;
  // Zeroed; throws Error(resources).
  Holding(Arena& arena, std::size_t bytes, std::shared_ptr<const void> user_memory);

  std::byte* block() const noexcept { return body_ ? body_->block : nullptr; }
  ArenaAddress place() const { return *body_->arena.find(body_->block, body_->bytes); }

 private:
  friend class Retired;
  struct Body {
    Body(Arena& in, std::size_t count, std::shared_ptr<const void> memory);
    ~Body() { arena.free(block); }

    Arena& arena;
    std::byte* block;
    std::size_t bytes;
    std::shared_ptr<const void> user_memory;  // PST_Alloc_mem memory that the peer addresses
    // Retired keeps its list in these, so that it needs no memory of its own.
    std::function<bool()> over;
    std::unique_ptr<Body> next;
  };

  std::unique_ptr<Body> body_;
};

// Blocks whose own half is gone and whose peer's may not be.
class Retired {
 public:
  ~Retired();

  // `over`: whether nobody stores into the block any more.
  void add(Holding holding, std::function<bool()> over) noexcept;
  // `last_by_peer`: not 0 when the peer stores nothing any more. `peer_dead`, if it is given: a
  // dead peer stores nothing any more either, and will not say so.
  void add(Holding holding, const std::uint64_t* last_by_peer,
           const std::atomic<bool>* peer_dead = nullptr) noexcept;
  // Looks at a few of them, so that a match costs the same however many there are.
  void sweep() noexcept;
  void sweep_all() noexcept;
  std::size_t size() const;

 private:
  using Body = Holding::Body;
  std::unique_ptr<Body> take_first() noexcept;
  void put_last(std::unique_ptr<Body> body) noexcept;
  void sweep_some(std::size_t most) noexcept;

  mutable std::mutex mutex_;
  std::unique_ptr<Body> first_;
  Body* last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace penstock::peer
