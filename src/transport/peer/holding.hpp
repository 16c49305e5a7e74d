// SPDX-License-Identifier: Apache-2.0
// What one half of a pair holds in this process's arena, and what becomes of it when the half is freed: the peer may
// still store into the block (a late FIN, a claim), so it is reused only when the peer's last store has come: CLOSED,
// or where kernels store, GONE.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "transport/peer/arena.hpp"

namespace penstock::transport::peer {

class Holding {
 public:
  Holding() = default;
  Holding(Arena& arena, std::size_t bytes, std::shared_ptr<const void> user_memory);  // zeroed; throws Error(resources)
  ~Holding() { reset(); }
  Holding(Holding&& other) noexcept { *this = std::move(other); }
  Holding& operator=(Holding&& other) noexcept;

  std::byte* block() const noexcept { return block_; }
  Place place() const { return *arena_->find(block_, bytes_); }

 private:
  void reset() noexcept;

  Arena* arena_ = nullptr;
  std::byte* block_ = nullptr;
  std::size_t bytes_ = 0;
  std::shared_ptr<const void> user_memory_;  // PST_Alloc_mem memory that the peer addresses
};

// Blocks whose own half is gone and whose peer's may not be.
class Retired {
 public:
  // `last_by_peer`: not 0 when the peer stores nothing any more. `peer_dead`, if it is given: a dead peer stores
  // nothing any more either, and will not say so.
  void add(Holding holding, const std::uint64_t* last_by_peer, const std::atomic<bool>* peer_dead = nullptr);
  void sweep();  // looks at a few of them, so that a match costs the same however many there are
  void sweep_all();
  std::size_t size() const;

 private:
  struct Entry {
    Holding holding;
    const std::uint64_t* last_by_peer;
    const std::atomic<bool>* peer_dead;
    bool over() const noexcept;
  };
  void sweep_some(std::size_t most);

  mutable std::mutex mutex_;
  std::deque<Entry> entries_;
};

}  // namespace penstock::transport::peer
