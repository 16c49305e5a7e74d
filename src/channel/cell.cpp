// SPDX-License-Identifier: Apache-2.0
#include "channel/cell.hpp"

namespace penstock::channel {

void Cell::start() noexcept {
  stage_.store(Stage::under_way, std::memory_order_relaxed);
  try {
    plan_->expect_start();
  } catch (const base::Error& error) {
    return fail(error);
  }
  starting_ = !plan_->start_step(*this);
}

bool Cell::advance() noexcept {
  if (stage() != Stage::under_way) return true;
  if (starting_) starting_ = !plan_->start_step(*this);
  if (starting_ || !plan_->poll_step(*this)) return false;
  stage_.store(sends_ ? Stage::open : Stage::arrived, std::memory_order_relaxed);
  return true;
}

void Cell::give_up() noexcept {
  starting_ = false;
  plan_->poison();
}

void Cell::tell(transport::Sink& queue) noexcept {
  told_ = &queue;
  queue.blocked_since(*plan_);
}

// The queue's lock keeps the monitor from the plan behind this.
void Cell::unblocked(transport::Waiter& waiter) noexcept {
  blocked_ = false;
  if (transport::Sink* const queue = std::exchange(told_, nullptr)) queue->unblocked(waiter);
}

// A message that is under way is wanted no more: the pair is given up first, as its buffer is the
// program's when this has ended.
bool Cell::close() noexcept {
  if (closed_) return true;
  if (stage() == Stage::under_way) {
    plan_->note_freed();
    give_up();
    if (!advance()) return false;
  }
  plan_->close();
  closed_ = true;
  return true;
}

}  // namespace penstock::channel
