// SPDX-License-Identifier: Apache-2.0
// Which clients of an engine have work: many threads mark them as ready, and one at a time takes
// all that have been marked. It takes no lock and allocates nothing.
#pragma once

#include <atomic>

namespace penstock::plan {

// What an item of the list derives from. It stands in the list at most once.
template <class T>
struct ReadyItem {
  std::atomic<bool> listed{false};
  T* next_ready = nullptr;  // written by the marking thread before it publishes, read by the taker
};

template <class T>
class ReadyList {
 public:
  // What the caller wrote before is visible to the taker, also when the item was in the list
  // already: the taker's exchange reads from this one.
  void mark(T& item) noexcept {
    if (item.listed.exchange(true, std::memory_order_acq_rel)) return;
    T* first = first_.load(std::memory_order_relaxed);
    do {
      item.next_ready = first;
    } while (!first_.compare_exchange_weak(first, &item, std::memory_order_seq_cst,
                                           std::memory_order_relaxed));
  }

  // Calls visit(item) for each marked item, the earliest first. An item that is marked during its
  // own visit stands in the next round.
  template <class Visit>
  bool take(Visit visit) noexcept {
    if (first_.load(std::memory_order_relaxed) == nullptr) return false;
    T* item = in_order(first_.exchange(nullptr, std::memory_order_acquire));
    const bool any = item != nullptr;
    while (item) {
      // It is read before the flag falls: from then on the item may be marked again.
      T* next = item->next_ready;
      item->listed.exchange(false, std::memory_order_acq_rel);
      visit(*item);
      item = next;
    }
    return any;
  }

  // Sequentially consistent, as the publication above: a thread that announces its sleep and then
  // finds the list empty is seen asleep by everyone who marks an item later.
  bool empty() const noexcept { return first_.load(std::memory_order_seq_cst) == nullptr; }

 private:
  static T* in_order(T* last) noexcept {
    T* first = nullptr;
    while (last) {
      T* before = last->next_ready;
      last->next_ready = first;
      first = last;
      last = before;
    }
    return first;
  }

  std::atomic<T*> first_{nullptr};
};

}  // namespace penstock::plan
