// SPDX-License-Identifier: Apache-2.0
// Promises of the program's that are not kept, and what is told of the messages.
#include "overlap/engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <string>
#include <utility>

#include "base/shared_word.hpp"

namespace penstock::overlap {

using base::Error;

std::vector<Engine::Unmatched> Engine::unmatched(Clock::duration for_so_long) {
  const auto before = Clock::now() - for_so_long;
  const std::lock_guard lock(mutex_);
  std::vector<Unmatched> found;
  for (const Receive* const each : unmatched_)
    if (each->begun <= before)
      found.push_back({each->serial, each->communicator, each->peer, each->tag, each->label()});
  return found;
}

bool Engine::may_bring_more(int process) noexcept {
  const std::lock_guard lock(mutex_);
  look();
  tell_thread(Caller::passing);
  const Partner& partner = partners_[static_cast<std::size_t>(process)];
  if (partner.to == nullptr) return false;
  return base::load(station_.ring(process).begun) != partner.taken || partner.stalled;
}

void Engine::fail_unmatched(std::uint64_t serial, const Error& error) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(unmatched_, serial, &Message::serial);
  if (found == unmatched_.end()) return;
  Receive& message = **found;
  unmatched_.erase(found);
  posted_.withdraw(envelope_of(message), &message);
  message.error = error;
  end(message);
}

Counts Engine::counts() noexcept {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::string Engine::lines() {
  const std::lock_guard lock(mutex_);
  const auto now = Clock::now();
  std::string lines;
  const auto add = [&](const Message& message, const char* what) {
    lines += fmt::format("\n  {}: {}, for {:.1f} s", message.label(), what,
                         std::chrono::duration<double>(now - message.begun).count());
  };
  for (const Receive* const each : unmatched_) add(*each, "no message has been announced");
  unexpected_.for_each([&](const core::Envelope& envelope, const Arrival& arrival) {
    lines += fmt::format("\n  from rank {}, tag {}, {} bytes: no receive of it has begun",
                         envelope.source, envelope.tag, arrival.announced.bytes);
  });
  for (const Receive* const each : ready_) add(*each, "is being read");
  for (const Send* const each : sent_) add(*each, "its receiver has not read it");
  for (const Partner& partner : partners_)
    for (const Send* const each : partner.waiting) add(*each, "not announced yet");
  return lines;
}

}  // namespace penstock::overlap
