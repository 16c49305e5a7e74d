// SPDX-License-Identifier: Apache-2.0
// Which channels have something to do: many threads ring, one at a time takes all that have been rung. No lock, no
// allocation.
#pragma once

#include <atomic>

namespace penstock::plan {

// What an item must derive from to be rung. It stands in the list at most once.
template <class T>
struct Rung {
  std::atomic<bool> rung{false};
  T* next_rung = nullptr;  // written by the ringer before it publishes, read by the taker
};

template <class T>
class RungList {
 public:
  // What the caller wrote before is visible to the taker, also when the item was in the list already: the taker's
  // exchange reads from this one.
  void ring(T& item) noexcept {
    if (item.rung.exchange(true, std::memory_order_acq_rel)) return;
    T* first = first_.load(std::memory_order_relaxed);
    do {
      item.next_rung = first;
    } while (!first_.compare_exchange_weak(first, &item, std::memory_order_seq_cst, std::memory_order_relaxed));
  }

  // Calls visit(item) for each item rung, the earliest first. An item rung during its own visit stands in the next
  // round.
  template <class Visit>
  bool take(Visit visit) noexcept {
    if (first_.load(std::memory_order_relaxed) == nullptr) return false;
    T* item = in_order(first_.exchange(nullptr, std::memory_order_acquire));
    const bool any = item != nullptr;
    while (item) {
      T* next = item->next_rung;  // before the flag falls: from then on the item may be rung again
      item->rung.exchange(false, std::memory_order_acq_rel);
      visit(*item);
      item = next;
    }
    return any;
  }

  // Sequentially consistent, as the publication above: a thread that announces its sleep and then finds the list empty
  // is seen asleep by every later ringer.
  bool empty() const noexcept { return first_.load(std::memory_order_seq_cst) == nullptr; }

 private:
  static T* in_order(T* last) noexcept {
    T* first = nullptr;
    while (last) {
      T* before = last->next_rung;
      last->next_rung = first;
      first = last;
      last = before;
    }
    return first;
  }

  std::atomic<T*> first_{nullptr};
};

}  // namespace penstock::plan
