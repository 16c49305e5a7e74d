// SPDX-License-Identifier: Apache-2.0
// The engine's end, inside MPI_Finalize: what is owed is delivered, the rest is given up, nothing
// waits for a process that is gone.
#include <algorithm>
#include <chrono>
#include <thread>

#include "proxy/engine.hpp"

namespace penstock::proxy {

using base::ErrorKind;
using std::chrono::steady_clock;

ProxyEngine::~ProxyEngine() {
  thread_.stop();
  const std::lock_guard lock(progress_lock_);
  take_ready();
  for (auto& [key, end] : ends_)
    tell(*end, end->completed.load(std::memory_order_relaxed) + 1, ErrorKind::peer_freed);
  deliver();
  if (!part()) say_farewell();
  for (auto& [key, end] : ends_) {
    give_up(*end, 1);
    leave_to_mpi(*end);
    end->free_requests();
  }
  notices_.stop();
  // Freeing a communicator is collective: with a process dead it might never return, and
  // MPI_Finalize comes next anyway.
  if (world_.anybody_dead()) {
    static_cast<void>(communicator_.release());
  }
}

// As MPI_Finalize does for MPI_Bsend, buffered messages are delivered before the end, to all who
// can still receive them.
void ProxyEngine::deliver() noexcept {
  const auto began = steady_clock::now();
  while (true) {
    world_.watch(0);  // the monitor has ended
    pass(nullptr);
    const bool late =
        options_.timeout.count() > 0 && steady_clock::now() - began > options_.timeout;
    if (late || !owes_messages()) return;
    std::this_thread::yield();
  }
}

// Nobody stops making progress while others still send, or wait for a notice: a process that is
// done would leave them waiting inside MPI. When all have come here nobody does any more: true.
// Ends early when a process has died, or has not come within PENSTOCK_TIMEOUT.
bool ProxyEngine::part() noexcept {
  if (world_.given_up()) return false;  // not everybody has an engine
  const auto began = steady_clock::now();
  const auto goes_on = [&] {
    if (world_.anybody_dead()) return false;
    pass(nullptr);
    return options_.timeout.count() == 0 || steady_clock::now() - began <= options_.timeout;
  };
  // MPICH does not leave MPI_Finalize while its queues are full of what nobody takes any more: so a
  // process says that it has come only when MPI has taken all that it sends.
  return world_.part([this] { return notices_.all_sent(); }, goes_on);
}

// There is no point at which all who are left have heard of our end, and MPI, which may take no
// notice for a process that is gone or cut off, does not tell that it never will. So this has a
// limit, of its own.
void ProxyEngine::say_farewell() noexcept {
  constexpr auto farewell = std::chrono::seconds(1);
  for (const auto began = steady_clock::now();
       !notices_.all_sent() && steady_clock::now() - began < farewell; std::this_thread::yield())
    pass(nullptr);
}

bool ProxyEngine::owes_messages() const noexcept {
  return std::any_of(active_.begin(), active_.end(), [this](const MpiSlot* operation) {
    const PairEnd& end = *operation->end;
    return end.buffered() && !operation->given_up && !end.closed_before(operation->epoch) &&
           !dead(end.peer);
  });
}

}  // namespace penstock::proxy
