// SPDX-License-Identifier: Apache-2.0
#include "enqueued/message_plan.hpp"

#include <fmt/format.h>

namespace penstock::enqueued {

using base::Error;
using base::ErrorKind;

std::string MessagePlan::describe() const {
  const std::string under_way = engine_.describe(messages_);
  return fmt::format("{} triggers, {} complete, MPI has {}",
                     messages_.triggered_.load(std::memory_order_acquire),
                     messages_.completed_.load(std::memory_order_acquire),
                     under_way.empty() ? "nothing" : under_way);
}

// Where the engine has found a failure, the queue has it already, and nothing is waited for but the
// end of what writes into buffers.
bool MessagePlan::ended() const noexcept {
  if (messages_.completed_.load(std::memory_order_acquire) >= triggered_) return true;
  return messages_.broken_.load(std::memory_order_acquire) && engine_.untouched(messages_);
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
