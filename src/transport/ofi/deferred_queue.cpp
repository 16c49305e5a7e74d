// SPDX-License-Identifier: Apache-2.0
#include "transport/ofi/deferred_queue.hpp"

#include <algorithm>

namespace penstock::transport::ofi {

namespace {

// The store's commands have a function; a start has none.
bool no_step(device::host::Command&) noexcept {
  return true;
}

}  // namespace

void DeferredQueue::add(const Start& start) {
  store_.push({&no_step, start.half, nullptr, start.epoch});
  added_.fetch_add(1, std::memory_order_seq_cst);
}

bool DeferredQueue::take_head() noexcept {
  if (has_head_) return true;
  if (!store_.ready()) return false;
  const device::host::Command command = store_.take();
  head_ = {command.object, command.value};
  has_head_ = true;
  return true;
}

bool DeferredQueue::room(unsigned entries) noexcept {
  if (policy_ == Policy::batches && statistics_.in_use == 0) filling_ = true;
  const bool fits = filling_ && statistics_.in_use + entries <= limit_;
  if (policy_ == Policy::batches && !fits) filling_ = false;
  return fits;
}

bool DeferredQueue::post(Poster& poster) noexcept {
  bool moved = false;
  while (take_head()) {
    // What could never be posted is carried out at its start.
    const unsigned entries = poster.entries_for(head_);
    if (entries > 0 && entries <= limit_) {
      const unsigned taken = room(entries) ? poster.post(head_) : 0;
      if (taken == 0) {
        waiting_before_ = added_.load(std::memory_order_relaxed);
        return moved;
      }
      statistics_.in_use += taken;
      statistics_.most_in_use = std::max(statistics_.most_in_use, statistics_.in_use);
      ++statistics_.posted;
    }
    pass_head(poster);
    moved = true;
  }
  return moved;
}

void DeferredQueue::pass_head(Poster& poster) noexcept {
  has_head_ = false;
  if (passed_++ < waiting_before_) ++statistics_.throttled;
  poster.passed(head_);
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

}  // namespace penstock::transport::ofi
