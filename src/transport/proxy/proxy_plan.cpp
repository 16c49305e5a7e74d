// SPDX-License-Identifier: Apache-2.0
#include "transport/proxy/proxy_plan.hpp"

#include <fmt/format.h>

#include <utility>

namespace penstock::transport::proxy {

using base::Error;
using base::ErrorKind;

std::optional<Error> ProxyPlan::dead() const {
  if (!engine_.dead(channel_->peer)) return std::nullopt;
  return Error(ErrorKind::peer_dead, fmt::format("the process of rank {} has ended", channel_->peer));
}

std::optional<Error> ProxyPlan::refused(Epoch epoch) const {
  if (auto error = channel_->broken(epoch)) return error;
  if (auto error = dead()) return error;
  // Sound, as the program can have told the sender of this start only after the start; and MPI may not have seen the
  // message yet, so that not every broken promise is found.
  if (!channel_->sends() && checks_ready() && engine_.arrived(*channel_))
    return Error(ErrorKind::ready, "a ready send was started before this receive");
  return std::nullopt;
}

std::optional<Error> ProxyPlan::take_buffer(Epoch epoch) {
  const Operation& slot = channel_->operation(epoch);
  if (slot.taken.load(std::memory_order_acquire)) engine_.look_hard(*channel_);
  if (slot.taken.load(std::memory_order_acquire))
    return Error(ErrorKind::buffer, fmt::format("all {} library buffers hold messages that rank {} has not received: "
                                                "raise PENSTOCK_SLOTS or receive sooner",
                                                channel_->operations.size(), channel_->peer));
  return channel_->fill(epoch, engine_.communicator());
}

std::optional<Error> ProxyPlan::run_start() noexcept {
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

// With a peer that has gone nothing counts as complete, though MPI may say so: nobody will receive the send, and the
// message may have been fetched from a buffer that its sender had given up.
bool ProxyPlan::ended(Epoch epoch) const noexcept {
  return (channel_->buffered() || channel_->complete(epoch)) && !channel_->closed_before(epoch);
}

bool ProxyPlan::run_wait() noexcept {
  const Epoch epoch = done_ + 1;
  if (!ended(epoch)) {
    engine_.look(*channel_);
    if (!ended(epoch)) return false;
  }
  done_ = epoch;
  return true;
}

std::optional<Error> ProxyPlan::hopeless() noexcept {
  const Epoch epoch = done_ + 1;
  auto error = channel_->broken(epoch);
  if (!error) error = dead();
  if (!error) return std::nullopt;
  engine_.look_hard(*channel_);  // the message may be here already
  reason_ = error->kind();
  return error;
}

void ProxyPlan::run_close() noexcept {
  engine_.release(*channel_, done_ + 1);
}

void ProxyPlan::spoil() noexcept {
  engine_.spoil(*channel_, done_ + 1, reason_);
}

std::string ProxyPlan::describe() const {
  const Epoch started = channel_->started.load(std::memory_order_acquire);
  const Epoch completed = channel_->completed.load(std::memory_order_acquire);
  const char* call = channel_->sends() ? "send" : "receive";
  const char* what = channel_->sends() && channel_->mode == Mode::synchronous ? "waits for the receive to be started"
                     : channel_->sends()                                      ? "waits for MPI to take the message"
                                                                              : "waits for the message";
  return fmt::format("epoch {}, MPI {} {} rank {} with tag {}, {} complete, {}", started, call,
                     channel_->sends() ? "to" : "from", channel_->peer, channel_->tag, completed, what);
}

}  // namespace penstock::transport::proxy
