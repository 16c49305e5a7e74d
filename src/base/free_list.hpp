// SPDX-License-Identifier: Apache-2.0
// Items that are used again. One thread at a time takes them, and any thread gives them back, both
// without a lock; memory is asked for only while no item is free. Items live as long as the list.
#pragma once

#include <atomic>
#include <deque>
#include <utility>

#include "base/no_copy.hpp"

namespace penstock::base {

// What an item derives from.
template <class T>
struct FreeItem {
  T* next_free = nullptr;
};

template <class T>
class FreeList : private NoCopy {
 public:
  // Calls make_room() before it asks for memory. Throws std::bad_alloc, and what make_room()
  // throws.
  template <class MakeRoom>
  T& take(MakeRoom make_room) {
    // Acquire: the item's last user is done with it.
    if (!taken_) taken_ = returned_.exchange(nullptr, std::memory_order_acquire);
    if (taken_) return *std::exchange(taken_, taken_->next_free);
    make_room();
    return items_.emplace_back();
  }
  T& take() {
    return take([] {});
  }
  void give_back(T& item) noexcept {
    T* first = returned_.load(std::memory_order_relaxed);
    do {
      item.next_free = first;
    } while (!returned_.compare_exchange_weak(first, &item, std::memory_order_release,
                                              std::memory_order_relaxed));
  }

  // Visits every item that was ever taken. Only the taking thread may call it.
  template <class Visit>
  void for_each(Visit visit) {
    for (T& item : items_) visit(item);
  }
  std::size_t size() const noexcept { return items_.size(); }

 private:
  std::deque<T> items_;
  T* taken_ = nullptr;  // the taking thread's own
  std::atomic<T*> returned_{nullptr};
};

}  // namespace penstock::base
