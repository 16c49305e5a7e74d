// SPDX-License-Identifier: Apache-2.0
// What the provider is given of an end ahead of its doorbells, and what it has done with.
#include <rdma/fi_errno.h>

#include "ofi/end.hpp"

namespace penstock::ofi {

using Role = RdmaOperation::Role;

bool End::may_post_next() const noexcept {
  const protocol::Epoch epoch = posted_.epoch + 1;
  if (stopped_.now || has_told_peer() || failure_.get() != nullptr ||
      epoch > rung_ + epochs_ahead || !is_armed(epoch))
    return false;
  // An epoch that is posted in part stays the last one until its doorbell.
  if (posted_.epoch > rung_ && !is_whole(posted_.part)) return false;
  // A signal posted now might come before the one that we shall write ourselves.
  if (counters_.signals && (!sends() || rings_ahead()) && hand_.under_way() && !hand_.posted.signal)
    return false;
  return fires_at(epoch) < common_.counter_limit;
}

RdmaOperation* End::take_operation(protocol::Epoch epoch, Role role) noexcept {
  RdmaOperation* const operation = common_.operations.take();
  if (operation == nullptr) return nullptr;
  operation->belong_to(*this, role);
  operation->epoch = epoch;
  operation->next = nullptr;
  return operation;
}

bool End::defer(RdmaOperation* operation, const Counter& trigger, std::uint64_t threshold,
                const Counter& completion) noexcept {
  const int code =
      operation->defer(common_.fabric.domain(), trigger.get(), threshold, completion.get());
  if (code != 0) {
    common_.operations.give(*operation);
    if (code != -FI_EAGAIN && code != -FI_ENOSPC && code != -FI_ENOMEM)
      fail(common_.fabric.error("fi_control", code));
    return false;
  }
  posted_.push(*operation);
  return true;
}

bool End::defer_one(protocol::Epoch epoch, Role role, const Counter& trigger,
                    std::uint64_t threshold) noexcept {
  const bool signals = role == Role::signal;
  std::uint64_t& posted = signals ? posted_.signals : posted_.additions;
  RdmaOperation* const operation = take_operation(epoch, role);
  if (operation == nullptr) return false;
  operation->number = posted + 1;
  operation->make_addition(common_.fabric.endpoint(), common_.one,
                           signals ? words_.own(words_->done) : added_word());
  if (!defer(operation, trigger, threshold, signals ? counters_.signals : counters_.added))
    return false;
  ++posted;
  return true;
}

bool End::has_ended(const RdmaOperation& operation) const noexcept {
  switch (operation.role) {
    case Role::data:
      return read(counters_.data) >= operation.number;
    case Role::signal:
      return load(words_->done) >= operation.epoch && read(counters_.signals) >= operation.number;
    case Role::addition:
      return read(counters_.added) >= operation.number;
    default:  // is not posted ahead
      return false;
  }
}

bool End::free_entries() noexcept {
  bool moved = false;
  while (!posted_.empty() && has_ended(*posted_.first())) {
    common_.operations.give(posted_.pop());
    ++freed_entries_;
    moved = true;
  }
  return moved;
}

}  // namespace penstock::ofi
