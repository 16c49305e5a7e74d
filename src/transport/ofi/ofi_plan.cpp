// SPDX-License-Identifier: Apache-2.0
#include "transport/ofi/ofi_plan.hpp"

#include <fmt/format.h>

#include <utility>

namespace penstock::transport::ofi {

using base::Error;
using base::ErrorKind;

namespace {

const char* name_of(Protocol protocol) {
  switch (protocol) {
    case Protocol::ring:
      return "ring";
    case Protocol::rendezvous:
      return "rendezvous";
    case Protocol::ready:
      return "ready";
  }
  return "?";
}

}  // namespace

// What the peer has said comes first, then that it is dead: either explains what the network says.
std::optional<Error> OfiPlan::broken(Epoch epoch) const {
  if (!channel_->closed_before(epoch) && engine_.dead(channel_->peer))
    return Error(ErrorKind::peer_dead, fmt::format("the process of rank {} has ended", channel_->peer));
  return channel_->broken(epoch);
}

std::optional<Error> OfiPlan::refused(Epoch epoch) const {
  if (auto error = broken(epoch)) return error;
  // Sound, as the program can have told the sender of this start only after the start; and the message may still be on
  // its way, so that not every broken promise is found.
  if (!channel_->sends() && checks_ready() && engine_.arrived(*channel_, epoch))
    return Error(ErrorKind::ready, "a ready send was started before this receive");
  return std::nullopt;
}

std::optional<Error> OfiPlan::take_buffer(Epoch epoch) const {
  if (!channel_->buffer_free(epoch))
    if (auto error = engine_.find_buffer(*channel_, epoch)) return error;
  channel_->fill(epoch);
  return std::nullopt;
}

std::optional<Error> OfiPlan::run_start() noexcept {
  const Epoch epoch = done_ + 1;
  auto error = refused(epoch);
  if (!error && channel_->buffered()) error = take_buffer(epoch);
  if (!error) {
    channel_->trigger(epoch);
    engine_.ring(*channel_);
    if (checks_ready()) engine_.look_hard(*channel_);  // so that the receiver's check finds what it can
    // The pass may have brought the news that the receiver has gone.
    if (channel_->sends()) error = channel_->broken(epoch);
  }
  if (error) reason_ = error->kind();
  return error;
}

// With a peer that has gone nothing counts as complete: nobody will receive the send, and the message may have been
// fetched from a buffer that its sender had given up.
bool OfiPlan::ended(Epoch epoch) const noexcept {
  if (channel_->closed_before(epoch)) return false;
  if (channel_->buffered()) return true;
  if (!channel_->complete(epoch)) return false;
  return !channel_->sends() || !in_slots() || channel_->room(epoch + 1);
}

bool OfiPlan::run_wait() noexcept {
  const Epoch epoch = done_ + 1;
  if (!ended(epoch)) {
    engine_.look(*channel_);
    if (!ended(epoch)) return false;
  }
  done_ = epoch;
  if (!channel_->sends() && in_slots()) {
    channel_->take_out(epoch);
    engine_.ring(*channel_);  // gives the slot back
  }
  return true;
}

std::optional<Error> OfiPlan::hopeless() noexcept {
  const Epoch epoch = done_ + 1;
  auto error = broken(epoch);
  if (!error) return std::nullopt;
  engine_.look_hard(*channel_);  // the message, or the peer's own word of what has happened, may be here already
  if (auto better = broken(epoch)) error = std::move(better);
  reason_ = error->kind();
  return error;
}

void OfiPlan::run_close() noexcept {
  engine_.release(*channel_, done_ + 1);
}

void OfiPlan::spoil() noexcept {
  engine_.spoil(*channel_, done_ + 1, reason_);
}

std::string OfiPlan::path() const {
  return fmt::format("ofi ({} over {})", name_of(channel_->shape.protocol), engine_.provider());
}

std::string OfiPlan::describe() const {
  const Epoch epoch = channel_->started.load(std::memory_order_acquire);
  const Words& words = channel_->words();
  const Epoch done = load(words.done);
  std::string what;
  if (!channel_->sends())
    what = fmt::format("the message ({} arrived)", done);
  else if (!channel_->complete(epoch) && channel_->shape.protocol == Protocol::rendezvous && load(words.cts) < epoch)
    what = fmt::format("the receive (CTS {})", load(words.cts));
  else if (!channel_->complete(epoch))
    what = fmt::format("the network to deliver ({} delivered)", done);
  else
    what = fmt::format("room: the receive's wait of epoch {} ({} taken)", epoch + 1 - channel_->shape.slots,
                       load(words.consumed));
  return fmt::format("epoch {}, {} over {}, waits for {}", epoch, name_of(channel_->shape.protocol), engine_.provider(),
                     what);
}

}  // namespace penstock::transport::ofi
