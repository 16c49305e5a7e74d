// SPDX-License-Identifier: Apache-2.0
#include "ofi/deferred_queue.hpp"

#include <algorithm>

namespace penstock::ofi {

void DeferredQueue::join(Candidate& half, unsigned entries) noexcept {
  if (half.ticket_ != 0 || entries == 0 || entries > limit_) return;
  half.ticket_ = ++tickets_;
  half.behind_ = nullptr;
  (last_ ? last_->behind_ : first_) = &half;
  last_ = &half;
}

void DeferredQueue::leave(Candidate& half) noexcept {
  if (half.ticket_ == 0) return;
  Candidate* before = nullptr;
  for (Candidate* other = first_; other != &half; other = other->behind_) before = other;
  (before ? before->behind_ : first_) = half.behind_;
  if (last_ == &half) last_ = before;
  half.ticket_ = 0;
}

void DeferredQueue::overtaken(Candidate& half) noexcept {
  if (half.ticket_ == 0) return;
  count(half);
  half.ticket_ = ++tickets_;
}

void DeferredQueue::count(const Candidate& half) noexcept {
  if (half.ticket_ <= refused_) ++statistics_.throttled;
}

DeferredQueue::Candidate& DeferredQueue::take_first() noexcept {
  Candidate& half = *first_;
  first_ = half.behind_;
  if (first_ == nullptr) last_ = nullptr;
  half.ticket_ = 0;
  return half;
}

bool DeferredQueue::room(unsigned entries) noexcept {
  if (policy_ == Policy::batches && statistics_.in_use == 0) filling_ = true;
  const bool fits = filling_ && statistics_.in_use + entries <= limit_;
  if (policy_ == Policy::batches && !fits) filling_ = false;
  return fits;
}

bool DeferredQueue::post(Poster& poster) noexcept {
  bool moved = false;
  for (; first_ != nullptr; moved = true) {
    Candidate& half = *first_;
    if (const unsigned entries = poster.entries_for(half); entries > 0) {
      const unsigned taken = room(entries) ? poster.post(half) : 0;
      if (taken == 0) {
        refused_ = tickets_;
        return moved;
      }
      statistics_.in_use += taken;
      statistics_.most_in_use = std::max(statistics_.most_in_use, statistics_.in_use);
      ++statistics_.posted;
      count(half);
    }
    take_first();
    join(half, poster.entries_for(half));
  }
  return moved;
}

void DeferredQueue::completed(unsigned entries) noexcept {
  if (policy_ == Policy::application)
    reclaimable_ += entries;
  else
    statistics_.in_use -= entries;
}

void DeferredQueue::reclaim() noexcept {
  statistics_.in_use -= reclaimable_;
  reclaimable_ = 0;
}

}  // namespace penstock::ofi
