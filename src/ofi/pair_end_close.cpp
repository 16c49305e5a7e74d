// SPDX-License-Identifier: Apache-2.0
// How a half ends: what its peer is told, what is given up, and when the provider has nothing of it
// any more.
#include "ofi/pair_end.hpp"

#include <rdma/fi_errno.h>

#include <algorithm>
#include <utility>

namespace penstock::ofi {

using base::ErrorKind;

void PairEnd::tell(protocol::Epoch closed, ErrorKind reason) noexcept {
  if (notice_[0] != 0) return;
  notice_[0] = closing_word(closed, static_cast<int>(reason));
  notice_owed_ = true;
}

// The last that goes to the peer's words, which are the peer's own from then on.
bool PairEnd::send_notice() noexcept {
  if (!notice_owed_ || !protocol::may_part(credits_, load(words().taken), credit_query_.under_way))
    return false;
  notice_[1] = protocol::parting_word(credits_);
  notice_operation_.make_write(common_.fabric.endpoint(), {notice_, sizeof notice_, nullptr},
                               remote_word(offsetof(Words, closed)));
  const ssize_t code = notice_operation_.issue(true, true);
  if (code == -FI_EAGAIN) return false;
  notice_owed_ = false;
  notice_operation_.under_way = code == 0;
  return true;
}

void PairEnd::give_up() noexcept {
  if (given_up_) return;
  given_up_ = true;
  // The stream may be more than one ahead of us.
  while (rings_ahead() && rung_ < started.load(std::memory_order_acquire)) take_doorbell();
  begun_ = sends() ? std::min(rung_, base_ + read(trigger_) / steps()) : rung_;
  // From here on late data finds no place, and what waits for a doorbell waits for ever.
  landing_.close();
  cts_.close();
  doorbell_.reset();
  trigger_.reset();
}

// Whether operations that had begun when the pair was given up have not ended yet. Of failed ones
// nothing else is heard.
bool PairEnd::in_flight() const noexcept {
  const std::uint64_t counted = read(data_);
  if (sends()) {
    const bool by_hand = carrying_ != 0 && carrying_ <= begun_ && !counted_placed_;
    const std::uint64_t writes =
        shape.parts * relative(begun_) - (by_hand ? shape.parts - issued_ : 0);
    if (counted + (by_hand ? placed_ : 0) + lost_ < writes) return true;
  }
  for (const RdmaOperation* operation = first_posted_; operation != nullptr;
       operation = operation->next) {
    const bool signal = operation->role == RdmaOperation::Role::signal;
    if (signal && counted >= shape.parts * relative(operation->epoch) &&
        read(signals_) + lost_ < operation->number)
      return true;
    const bool cts = operation->role == RdmaOperation::Role::cts;
    if (cts && operation->epoch <= rung_ && read(cts_ends_) + lost_ < operation->number)
      return true;
  }
  return false;
}

// The provider may have operations of ours that will never run. When no other ones are left they
// are forgotten with the counter that they wait for.
bool PairEnd::forget_posted() noexcept {
  if (!given_up_ || forgotten_ || in_flight()) return false;
  forgotten_ = true;
  data_.reset();
  signals_.reset();
  cts_ends_.reset();
  while (first_posted_ != nullptr) {
    common_.operations.give(*std::exchange(first_posted_, first_posted_->next));
    ++freed;
  }
  last_posted_ = nullptr;
  return true;
}

// What is reported names its operation, which must be there until then.
bool PairEnd::anything_under_way() const noexcept {
  if (notice_operation_.under_way || credit_query_.under_way || cts_operation_.under_way)
    return true;
  for (unsigned i = 0; credit_operations_ && i < shape.slots; ++i)
    if (credit_operations_[i].under_way) return true;
  return false;
}

bool PairEnd::over() const noexcept {
  const Words& ours = words();
  return closing && !has_work() && !anything_under_way() &&
         protocol::words_are_free(load(ours.closed), load(ours.parting), load(ours.consumed));
}

}  // namespace penstock::ofi
