// SPDX-License-Identifier: Apache-2.0
// What the provider is given of a half ahead of its doorbells, and what it has done with.
#include "ofi/pair_end.hpp"

#include <rdma/fi_errno.h>

#include <algorithm>
#include <utility>

namespace penstock::ofi {

unsigned PairEnd::entries() const noexcept {
  const protocol::Epoch epoch = posted_.epoch + 1;
  if (stopped_.now || notice_.words[0] != 0 || failure_.get() != nullptr ||
      epoch > rung_ + epochs_ahead || epoch > armed_.load(std::memory_order_acquire))
    return 0;
  // An epoch that is posted in part stays the last one until its doorbell.
  if (posted_.epoch > rung_ && !whole(posted_.part)) return 0;
  // A signal posted now might come before the one that we shall write ourselves.
  if (common_.signals && (!sends() || rings_ahead()) && hand_.under_way() && !hand_.posted.signal)
    return 0;
  if (relative(epoch) * std::max<std::uint64_t>(2, cut.parts) >= common_.counter_limit) return 0;
  return (common_.signals ? 1 : 0) + (sends() ? cut.parts : rendezvous() ? 1 : 0);
}

bool PairEnd::whole(const PostedPart& part) const noexcept {
  if (common_.signals && !part.signal) return false;
  return sends() ? part.parts == cut.parts : part.cts || !rendezvous();
}

RdmaOperation* PairEnd::take_operation(protocol::Epoch epoch, RdmaOperation::Role role) noexcept {
  RdmaOperation* const operation = common_.operations.take();
  if (operation == nullptr) return nullptr;
  operation->belong_to(*this, role);
  operation->epoch = epoch;
  operation->next = nullptr;
  return operation;
}

bool PairEnd::defer(RdmaOperation* operation, const Counter& trigger, std::uint64_t threshold,
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

bool PairEnd::defer_signal(protocol::Epoch epoch) noexcept {
  RdmaOperation* const operation = take_operation(epoch, RdmaOperation::Role::signal);
  if (operation == nullptr) return false;
  operation->number = posted_.signals + 1;
  operation->make_addition(common_.fabric.endpoint(), common_.one,
                           memory_.own_word(memory_.words().done));
  if (!defer(operation, counters_.data, cut.parts * relative(epoch), counters_.signals))
    return false;
  ++posted_.signals;
  return true;
}

bool PairEnd::defer_data(protocol::Epoch epoch, unsigned part) noexcept {
  RdmaOperation* const operation = take_operation(epoch, RdmaOperation::Role::data);
  if (operation == nullptr) return false;
  operation->make_write(common_.fabric.endpoint(), memory_.source(epoch, part),
                        memory_.target(epoch, part));
  return defer(operation, counters_.trigger, steps() * relative(epoch), counters_.data);
}

bool PairEnd::defer_cts(protocol::Epoch epoch) noexcept {
  RdmaOperation* const operation = take_operation(epoch, RdmaOperation::Role::cts);
  if (operation == nullptr) return false;
  operation->number = posted_.cts + 1;
  operation->make_addition(common_.fabric.endpoint(), common_.one, memory_.cts_target());
  if (!defer(operation, counters_.trigger, relative(epoch), counters_.cts_ends)) return false;
  ++posted_.cts;
  return true;
}

unsigned PairEnd::post() noexcept {
  const protocol::Epoch epoch = posted_.epoch + 1;
  PostedPart part;
  if (common_.signals) {
    if (!defer_signal(epoch)) return 0;
    part.signal = true;
  }
  if (sends())
    while (part.parts < cut.parts && defer_data(epoch, part.parts)) ++part.parts;
  else
    part.cts = rendezvous() && defer_cts(epoch);
  const unsigned taken = (part.signal ? 1 : 0) + (part.cts ? 1 : 0) + part.parts;
  if (taken == 0) return 0;
  posted_.epoch = epoch;
  posted_.part = part;
  return taken;
}

// Where there are signals, writes stand behind that of their epoch, which ends after them.
bool PairEnd::has_ended(const RdmaOperation& operation) const noexcept {
  switch (operation.role) {
    case RdmaOperation::Role::data:
      return common_.signals || read(counters_.data) >= cut.parts * relative(operation.epoch);
    case RdmaOperation::Role::signal:
      return load(memory_.words().done) >= operation.epoch &&
             read(counters_.signals) >= operation.number;
    case RdmaOperation::Role::cts:
      return read(counters_.cts_ends) >= operation.number;
    default:  // is not posted ahead
      return false;
  }
}

bool PairEnd::free_entries() noexcept {
  bool moved = false;
  while (!posted_.empty() && has_ended(*posted_.first())) {
    common_.operations.give(posted_.pop());
    ++freed_entries_;
    moved = true;
  }
  return moved;
}

}  // namespace penstock::ofi
