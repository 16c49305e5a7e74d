// SPDX-License-Identifier: Apache-2.0
#include "proxy/proxy_plan.hpp"

#include <fmt/format.h>

namespace penstock::proxy {

using base::Error;

std::optional<Error> ProxyPlan::take_buffer(protocol::Epoch epoch) {
  if (!end_->buffer_free(epoch))
    if (auto error = find_buffer(epoch)) return error;
  return end_->fill(epoch, engine_.communicator());
}

bool ProxyPlan::complete(protocol::Epoch epoch) const noexcept {
  return end_->buffered() || end_->complete(epoch);
}

std::string ProxyPlan::describe() const {
  const protocol::Epoch started = end_->started.load(std::memory_order_acquire);
  const protocol::Epoch completed = end_->completed.load(std::memory_order_acquire);
  const char* call = end_->sends() ? "send" : "receive";
  const char* what = end_->sends() && end_->mode == protocol::Mode::synchronous
                         ? "waits for the receive to be started"
                     : end_->sends() ? "waits for MPI to take the message"
                                     : "waits for the message";
  return fmt::format("epoch {}, MPI {} {} rank {} with tag {}, {} complete, {}", started, call,
                     end_->sends() ? "to" : "from", end_->peer, end_->tag, completed, what);
}

}  // namespace penstock::proxy
