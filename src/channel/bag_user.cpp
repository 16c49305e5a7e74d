// SPDX-License-Identifier: Apache-2.0
#include "channel/bag_user.hpp"

#include <utility>

#include "channel/bag_half.hpp"

namespace penstock::channel {

BagUser::BagUser(BagHalf& half, transport::Sink& queue,
                 const std::shared_ptr<device::Stream>& stream)
    : half_(half), queue_(queue), stream_(stream), address_(stream.get()) {
  set_label(half.label());
}

bool BagUser::found_nothing() noexcept {
  if (++polls_ % polls_between_checks != 0) return false;
  if (!blocked_ && polls_ >= polls_before_clock && lasts_.exceeds(until_blocked)) {
    blocked_ = true;
    queue_.blocked_since(*this);
  }
  return true;
}

const base::Error* BagUser::cancelled() const noexcept {
  return blocked_ && cancelled_.load(std::memory_order_acquire) ? &*cancel_error_ : nullptr;
}

// From unblocked() on nobody cancels this wait; a cancel that came too late is forgotten.
void BagUser::end() noexcept {
  polls_ = 0;
  lasts_.reset();
  if (!std::exchange(blocked_, false)) return;
  queue_.unblocked(*this);
  if (!cancel_claimed_.load(std::memory_order_relaxed)) return;
  cancel_error_.reset();
  cancelled_.store(false, std::memory_order_relaxed);
  cancel_claimed_.store(false, std::memory_order_relaxed);
}

std::string BagUser::describe() const {
  return half_.missing();
}

const char* BagUser::advice() const noexcept {
  return "see that as many messages are put into the bag as are grabbed, and that each is released";
}

void BagUser::cancel_wait(const base::Error& error) noexcept {
  if (cancel_claimed_.exchange(true, std::memory_order_relaxed)) return;
  cancel_error_ = error;
  cancelled_.store(true, std::memory_order_release);
}

}  // namespace penstock::channel
