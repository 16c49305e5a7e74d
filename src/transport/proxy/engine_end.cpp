// SPDX-License-Identifier: Apache-2.0
// The engine's end, inside MPI_Finalize: what is owed is delivered, the rest is given up, nothing waits for a process
// that is gone.
#include <algorithm>
#include <chrono>
#include <thread>

#include "transport/proxy/engine.hpp"

namespace penstock::transport::proxy {

using base::ErrorKind;

Engine::~Engine() {
  thread_.stop();
  const std::lock_guard turn(turn_);
  take_rung();
  for (auto& [key, channel] : channels_)
    tell(*channel, channel->completed.load(std::memory_order_relaxed) + 1, ErrorKind::peer_freed);
  deliver();
  part();
  for (auto& [key, channel] : channels_) {
    give_up(*channel, 1);
    channel->free_requests();
  }
  notices_.stop();
  // Freeing a communicator is collective: with a process dead it might never return, and MPI_Finalize comes next
  // anyway.
  if (anybody_dead()) {
    static_cast<void>(communicator_.release());
  }
}

// As MPI_Finalize does for MPI_Bsend, buffered messages are delivered before the end, to all who can still receive
// them.
void Engine::deliver() noexcept {
  const auto began = std::chrono::steady_clock::now();
  const auto farewell = std::chrono::seconds(1);
  while (true) {
    world_.watch(0);  // the monitor has ended
    pass(nullptr);
    const auto passed = std::chrono::steady_clock::now() - began;
    const bool owing = owes_messages() && (options_.timeout.count() == 0 || passed < options_.timeout);
    if (!owing && (notices_.all_sent() || passed > farewell)) return;
    std::this_thread::yield();
  }
}

// Nobody stops making progress while others still send: a process that is done would leave them waiting inside MPI.
// Ends early when a process has died, or has not come within PENSTOCK_TIMEOUT.
void Engine::part() noexcept {
  if (world_.given_up()) return;  // not everybody has an engine
  const auto began = std::chrono::steady_clock::now();
  MPI_Request everybody = MPI_REQUEST_NULL;
  if (PMPI_Ibarrier(communicator_->get(), &everybody) != MPI_SUCCESS) return;
  for (int done = 0; !done && !anybody_dead(); std::this_thread::yield()) {
    world_.watch(0);
    pass(nullptr);
    if (PMPI_Test(&everybody, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return;
    if (options_.timeout.count() > 0 && std::chrono::steady_clock::now() - began > options_.timeout) return;
  }
}

bool Engine::owes_messages() const noexcept {
  return std::any_of(active_.begin(), active_.end(), [this](const Operation* operation) {
    const Channel& channel = *operation->channel;
    return channel.buffered() && !channel.closed_before(operation->epoch) && !dead(channel.peer);
  });
}

bool Engine::anybody_dead() const noexcept {
  for (int rank = 0; rank < world_.size(); ++rank)
    if (dead(rank)) return true;
  return false;
}

}  // namespace penstock::transport::proxy
