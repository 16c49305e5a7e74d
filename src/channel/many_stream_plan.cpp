// SPDX-License-Identifier: Apache-2.0
#include "channel/many_stream_plan.hpp"

#include <chrono>
#include <utility>

#include "base/backoff.hpp"

namespace penstock::channel {

ManyStreamPlan::~ManyStreamPlan() {
  for (UsedStream* each = streams_.load(std::memory_order_acquire); each;)
    delete std::exchange(each, each->next_);
}

// What is under way may use the program's buffer, which is its own again behind this. Nothing holds
// up what is given up but a copy that another processor has begun.
void ManyStreamPlan::close() {
  base::Backoff backoff(std::chrono::microseconds{0});
  while (!close_now()) backoff.pause();
}

void ManyStreamPlan::close(device::Stream&, void (*ended)(void*), void* argument) {
  close_behind_own_streams(ended, argument);
}

// The last of the streams to get there closes.
bool ManyStreamPlan::close_step(device::host::Command& command) noexcept {
  auto& plan = *static_cast<ManyStreamPlan*>(command.object);
  if (std::exchange(command.value, 1) == 0 &&
      plan.streams_left_.fetch_sub(1, std::memory_order_acq_rel) != 1)
    return true;
  if (!plan.close_now()) return false;
  plan.ended_(plan.argument_);  // last: the plan may be gone when it returns
  return true;
}

bool ManyStreamPlan::close_behind_own_streams(void (*ended)(void*), void* argument) noexcept {
  ended_ = ended;
  argument_ = argument;
  UsedStream* const first = streams_.load(std::memory_order_acquire);
  std::uint32_t left = 0;
  for (UsedStream* each = first; each; each = each->next_)
    if ((each->closing_ = each->stream_.lock())) ++left;
  streams_left_.store(left, std::memory_order_release);
  // The last stream's part may be done, and the plan be gone, as soon as it is pushed.
  for (UsedStream* each = first; left > 0;) {
    const auto stream = std::move(std::exchange(each, each->next_)->closing_);
    if (!stream) continue;
    host_stream(*stream).push({&close_step, this, nullptr, 0});
    if (--left == 0) return true;
  }
  close();
  ended(argument);
  return true;
}

}  // namespace penstock::channel
