// SPDX-License-Identifier: Apache-2.0
#include "proxy/proxy_plan.hpp"

#include <fmt/format.h>

namespace penstock::proxy {

using base::Error;

std::optional<Error> ProxyPlan::take_buffer(protocol::Epoch epoch) {
  if (channel_->operation(epoch).taken.load(std::memory_order_acquire))
    if (auto error = find_buffer(epoch)) return error;
  return channel_->fill(epoch, engine_.communicator());
}

bool ProxyPlan::complete(protocol::Epoch epoch) const noexcept {
  return channel_->buffered() || channel_->complete(epoch);
}

std::string ProxyPlan::describe() const {
  const protocol::Epoch started = channel_->started.load(std::memory_order_acquire);
  const protocol::Epoch completed = channel_->completed.load(std::memory_order_acquire);
  const char* call = channel_->sends() ? "send" : "receive";
  const char* what = channel_->sends() && channel_->mode == protocol::Mode::synchronous
                         ? "waits for the receive to be started"
                     : channel_->sends() ? "waits for MPI to take the message"
                                         : "waits for the message";
  return fmt::format("epoch {}, MPI {} {} rank {} with tag {}, {} complete, {}", started, call,
                     channel_->sends() ? "to" : "from", channel_->peer, channel_->tag, completed,
                     what);
}

}  // namespace penstock::proxy
