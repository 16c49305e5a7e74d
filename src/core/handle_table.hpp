// SPDX-License-Identifier: Apache-2.0
// Opaque handles that can be checked: a handle names its table's kind, a place and how often the
// place has been used. So every call finds null, freed and invented handles, and those of another
// kind, without a lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace penstock::core {

template <class T>
class HandleTable {
 public:
  // Tables of different kinds know nothing of each other's handles.
  explicit HandleTable(std::uint16_t kind = 0) noexcept : kind_(std::uintptr_t{kind} << 48) {}
  // The handle's value is never 0. Null when all 65536 places are taken.
  std::uintptr_t insert(std::shared_ptr<T> object) {
    const std::lock_guard lock(mutex_);
    std::uint32_t place = 0;
    if (!free_.empty()) {
      place = free_.back();
      free_.pop_back();
    } else if (used_ < chunk_size * chunk_count) {
      if (used_ % chunk_size == 0) add_chunk(used_ / chunk_size);
      place = used_++;
    } else {
      return 0;
    }
    HandleSlot& slot = slot_of(place);
    slot.owner = std::move(object);
    slot.object.store(slot.owner.get(), std::memory_order_relaxed);
    const std::uint32_t use = slot.use.load(std::memory_order_relaxed) + 1;  // odd: in use
    slot.use.store(use, std::memory_order_release);                          // publishes the object
    return encode(place, use);
  }

  // Null for a handle that is null, freed or not one of ours. Any thread, no lock.
  T* find(std::uintptr_t handle) const noexcept {
    const HandleSlot* slot = find_slot(handle);
    return slot ? slot->object.load(std::memory_order_relaxed) : nullptr;
  }

  std::shared_ptr<T> share(std::uintptr_t handle) {
    const std::lock_guard lock(mutex_);
    const HandleSlot* slot = find_slot(handle);
    return slot ? slot->owner : nullptr;
  }

  std::shared_ptr<T> remove(std::uintptr_t handle) noexcept {
    const std::lock_guard lock(mutex_);
    HandleSlot* slot = const_cast<HandleSlot*>(find_slot(handle));
    if (!slot) return nullptr;
    slot->use.fetch_add(1, std::memory_order_relaxed);  // even: free
    slot->object.store(nullptr, std::memory_order_relaxed);
    free_.push_back(static_cast<std::uint32_t>(handle & 0xffff));
    return std::move(slot->owner);
  }

  // Every object that is there at the call, and perhaps later ones. `visit` runs without the lock
  // and may block. Needs no memory.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (std::uint32_t place = 0; const std::shared_ptr<T> object = next(place); ++place)
      visit(*object);
  }

  ~HandleTable() {
    for (auto& chunk : chunks_) delete chunk.load(std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint32_t chunk_size = 256;
  static constexpr std::uint32_t chunk_count = 256;
  struct HandleSlot {
    std::atomic<std::uint32_t> use{0};
    std::atomic<T*> object{nullptr};
    std::shared_ptr<T> owner;  // under the lock
  };
  using Chunk = std::array<HandleSlot, chunk_size>;

  // The number of uses is odd for a live handle, hence the value is never 0.
  std::uintptr_t encode(std::uint32_t place, std::uint32_t use) const noexcept {
    return kind_ | (static_cast<std::uintptr_t>(use) << 16) | place;
  }
  HandleSlot& slot_of(std::uint32_t place) noexcept {
    return (*chunks_[place / chunk_size].load(std::memory_order_relaxed))[place % chunk_size];
  }
  const HandleSlot* find_slot(std::uintptr_t handle) const noexcept {
    const auto place = static_cast<std::uint32_t>(handle & 0xffff);
    const std::uintptr_t use = (handle ^ kind_) >> 16;  // too large for a handle of another kind
    const Chunk* chunk = chunks_[place / chunk_size].load(std::memory_order_acquire);
    if (!chunk || use % 2 == 0) return nullptr;
    const HandleSlot& slot = (*chunk)[place % chunk_size];
    return slot.use.load(std::memory_order_acquire) == use ? &slot : nullptr;
  }

  // Reserves room for all its places to be free, so that remove() needs no memory.
  void add_chunk(std::uint32_t number) {
    free_.reserve(std::size_t{number + 1} * chunk_size);
    if (chunks_[number].load(std::memory_order_relaxed) == nullptr)
      chunks_[number].store(new Chunk, std::memory_order_release);
  }

  // The one at `place` or behind it, and moves `place` there.
  std::shared_ptr<T> next(std::uint32_t& place) noexcept {
    const std::lock_guard lock(mutex_);
    for (; place < used_; ++place)
      if (const auto& object = slot_of(place).owner) return object;
    return nullptr;
  }

  const std::uintptr_t kind_;
  std::mutex mutex_;
  std::array<std::atomic<Chunk*>, chunk_count> chunks_{};
  std::vector<std::uint32_t> free_;
  std::uint32_t used_ = 0;
};

}  // namespace penstock::core
