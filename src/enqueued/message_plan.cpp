// SPDX-License-Identifier: Apache-2.0
#include "enqueued/message_plan.hpp"

#include <fmt/format.h>

namespace penstock::enqueued {

using base::Error;
using base::ErrorKind;

std::string MessagePlan::describe() const {
  return fmt::format(
      "{} triggers, {} complete, MPI has {}", messages_.triggered_.load(std::memory_order_acquire),
      messages_.completed_.load(std::memory_order_acquire), engine_.describe(messages_));
}

std::optional<Error> MessagePlan::run_start(bool& /*later*/) {
  messages_.triggered_.store(++triggered_, std::memory_order_release);
  engine_.mark_ready(messages_);
  return std::nullopt;
}

bool MessagePlan::run_wait() noexcept {
  if (!ended()) {
    engine_.poll(messages_);
    if (!ended()) return false;
  }
  engine_.leave();
  return true;
}

void MessagePlan::run_poison() noexcept {
  static const Error unknown(ErrorKind::transport, "the queue has failed");
  const Error* const own = failure();
  const Error* const of_queue = messages_.queue_.error();
  engine_.give_up(messages_, own ? *own : of_queue ? *of_queue : unknown);
}

bool MessagePlan::run_untouched() noexcept {
  engine_.poll(messages_);
  if (!engine_.untouched(messages_)) return false;
  engine_.leave();
  return true;
}

}  // namespace penstock::enqueued
