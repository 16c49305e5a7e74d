// SPDX-License-Identifier: Apache-2.0
#include "ofi/deferred_queue.hpp"

#include <algorithm>

namespace penstock::ofi {

void DeferredQueue::join(EngineClient& client) noexcept {
  const unsigned entries = client.entries();
  if (client.ticket_ != 0 || entries == 0 || entries > limit_) return;
  client.ticket_ = ++tickets_;
  client.behind_ = nullptr;
  (last_ ? last_->behind_ : first_) = &client;
  last_ = &client;
}

void DeferredQueue::leave(EngineClient& client) noexcept {
  if (client.ticket_ == 0) return;
  EngineClient* before = nullptr;
  for (EngineClient* other = first_; other != &client; other = other->behind_) before = other;
  (before ? before->behind_ : first_) = client.behind_;
  if (last_ == &client) last_ = before;
  client.ticket_ = 0;
}

void DeferredQueue::overtaken(EngineClient& client) noexcept {
  if (client.ticket_ == 0) return;
  count(client);
  client.ticket_ = ++tickets_;
}

void DeferredQueue::count(const EngineClient& client) noexcept {
  if (client.ticket_ <= refused_) ++statistics_.throttled;
}

void DeferredQueue::take_first() noexcept {
  first_->ticket_ = 0;
  first_ = first_->behind_;
  if (first_ == nullptr) last_ = nullptr;
}

bool DeferredQueue::room(unsigned entries) noexcept {
  if (policy_ == Policy::batches && statistics_.in_use == 0) filling_ = true;
  const bool fits = filling_ && statistics_.in_use + entries <= limit_;
  if (policy_ == Policy::batches && !fits) filling_ = false;
  return fits;
}

EngineClient* DeferredQueue::post_next() noexcept {
  EngineClient* const client = first_;
  if (client == nullptr) return nullptr;
  // A client's next start may be another one than that with which it joined.
  if (const unsigned entries = client->entries(); entries > 0 && entries <= limit_) {
    const unsigned taken = room(entries) ? client->post() : 0;
    if (taken == 0) {
      refused_ = tickets_;
      return nullptr;
    }
    statistics_.in_use += taken;
    statistics_.most_in_use = std::max(statistics_.most_in_use, statistics_.in_use);
    ++statistics_.posted;
    count(*client);
  }
  take_first();
  join(*client);
  return client;
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
