// SPDX-License-Identifier: Apache-2.0
#include "enqueued/message_plan.hpp"

namespace penstock::enqueued {

using base::Error;

// Where the engine has found a failure, the queue has it already, and nothing is waited for but the
// end of what writes into buffers.
bool MessagePlan::ended() const noexcept {
  if (load(messages_.words().completed) >= triggered_) return true;
  return messages_.broken() && engine_.untouched(messages_);
}

std::optional<Error> MessagePlan::run_start(bool& /*later*/) {
  store(messages_.words().triggered, ++triggered_);
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
  const Error* const own = failure();
  engine_.give_up(messages_, own ? *own : messages_.why_failed());
}

bool MessagePlan::run_untouched() noexcept {
  engine_.poll(messages_);
  if (!engine_.untouched(messages_)) return false;
  engine_.leave();
  return true;
}

}  // namespace penstock::enqueued
