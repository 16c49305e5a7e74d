// SPDX-License-Identifier: Apache-2.0
// What an engine has under way, looked at in turns: each pass looks at some, and the next one goes
// on behind them. Nothing here allocates but reserve(). One thread at a time is in here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/reserve.hpp"

namespace penstock::plan {

// What an item of the list derives from.
struct ActiveItem {
  bool active = false;  // it stands in the list
  std::size_t active_place = 0;
};

template <class T>
class ActiveList {
 public:
  // `at_once` is how many items one move_some() looks at. With many a long list is through soon;
  // with few one more pass is cheap.
  explicit ActiveList(std::size_t at_once = 32) noexcept : at_once_(at_once) {}

  void reserve(std::size_t most) { base::reserve_for(items_, most); }  // throws std::bad_alloc

  void add(T& item) noexcept {
    item.active = true;
    item.active_place = items_.size();
    items_.push_back(&item);
  }
  // The last one takes its place.
  void remove(T& item) noexcept {
    item.active = false;
    items_.back()->active_place = item.active_place;
    items_[item.active_place] = items_.back();
    items_.pop_back();
  }

  // Returns true when move(item) has moved one at least. Items may leave the list meanwhile, this
  // one or others, and be destroyed.
  template <class Move>
  bool move_some(Move move) noexcept {
    bool moved = false;
    for (std::size_t i = 0, most = std::min(at_once_, size()); i < most && !empty(); ++i) {
      if (cursor_ >= size()) cursor_ = 0;
      T& item = *items_[cursor_];
      if (move(item)) moved = true;
      // Where it has left, and may be gone, another one stands in its place, or none.
      if (cursor_ < size() && items_[cursor_] == &item) ++cursor_;
    }
    return moved;
  }

  // Items may leave meanwhile, the visited one or others: from the back, as the last one takes the
  // place of one that leaves.
  template <class Visit>
  void visit_all(Visit visit) noexcept {
    for (std::size_t i = size(); i-- > 0;)
      if (i < size()) visit(*items_[i]);
  }

  std::size_t size() const noexcept { return items_.size(); }
  bool empty() const noexcept { return items_.empty(); }
  auto begin() const noexcept { return items_.begin(); }
  auto end() const noexcept { return items_.end(); }

 private:
  const std::size_t at_once_;
  std::vector<T*> items_;
  std::size_t cursor_ = 0;
};

}  // namespace penstock::plan
