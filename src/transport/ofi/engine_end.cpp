// SPDX-License-Identifier: Apache-2.0
// The engine's end, inside MPI_Finalize: what is owed is delivered, the rest is given up, and nobody stops making
// progress while others still need it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/log.hpp"
#include "transport/ofi/engine.hpp"

namespace penstock::transport::ofi {

using base::ErrorKind;

namespace {

using std::chrono::steady_clock;

}  // namespace

Engine::~Engine() {
  thread_.stop();
  const std::lock_guard turn(turn_);
  for (const auto& channel : channels_) {
    const Epoch served = channel->buffered() ? channel->started.load(std::memory_order_relaxed) : channel->completed();
    channel->tell(served + 1, ErrorKind::peer_freed);
    list(*channel);
  }
  deliver();
  const auto began = steady_clock::now();
  if (!world_.given_up())
    world_.part([&] {
      pass(nullptr);
      if (options_.timeout.count() > 0 && steady_clock::now() - began > options_.timeout) return false;
      return !anybody_dead();
    });
  const auto seen = deferred_.statistics();
  base::log::info(
      fmt::format("ofi ({}): {} starts posted, {} of them waited for entries, at most {} entries of {} at once; "
                  "{} starts carried out without",
                  fabric_.provider(), seen.posted, seen.throttled, seen.most_in_use, options_.entries, taken_over_));
  fabric_.close_endpoint();
  channels_.clear();
}

// As MPI_Finalize does for MPI_Bsend, buffered messages are delivered before the end, to all who can still receive
// them.
void Engine::deliver() noexcept {
  const auto began = steady_clock::now();
  constexpr auto farewell = std::chrono::seconds(1);
  while (true) {
    world_.watch(0);  // the monitor has ended
    pass(nullptr);
    const auto elapsed = steady_clock::now() - began;
    const bool owing = owes_messages() && (options_.timeout.count() == 0 || elapsed < options_.timeout);
    const bool talking =
        std::any_of(active_.begin(), active_.end(), [](const Channel* channel) { return channel->owes_notice(); });
    if (!owing && (!talking || elapsed > farewell)) return;
    std::this_thread::yield();
  }
}

bool Engine::owes_messages() const noexcept {
  return std::any_of(channels_.begin(), channels_.end(), [this](const auto& channel) {
    const Epoch last = channel->started.load(std::memory_order_relaxed);
    return channel->buffered() && !channel->complete(last) && !channel->broken(last) && !dead(channel->peer);
  });
}

bool Engine::anybody_dead() const noexcept {
  for (int rank = 0; rank < world_.size(); ++rank)
    if (dead(rank)) return true;
  return false;
}

}  // namespace penstock::transport::ofi
