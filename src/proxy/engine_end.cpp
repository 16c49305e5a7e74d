// SPDX-License-Identifier: Apache-2.0
// The engine's end, inside MPI_Finalize: what is owed is delivered, the rest is given up, nothing
// waits for a process that is gone.
#include <algorithm>

#include "proxy/engine.hpp"

namespace penstock::proxy {

using base::ErrorKind;

ProxyEngine::~ProxyEngine() {
  stop_thread();
  const std::lock_guard lock(progress_lock_);
  take_ready();
  for (auto& [key, end] : ends_) {
    tell(*end, end->completed.load(std::memory_order_relaxed) + 1, ErrorKind::peer_freed);
    if (!end->sends()) give_up(*end, 1);
    send_notice(*end);
  }
  end_with_others();
  for (auto& [key, end] : ends_) {
    give_up(*end, 1);
    leave_to_mpi(*end);
    end->free_requests();
  }
  notices_.stop();
  // Freeing a communicator is collective: with a process dead it might never return, and
  // MPI_Finalize comes next anyway.
  if (world().anybody_dead()) {
    static_cast<void>(communicator_.release());
  }
}

// MPI keeps what it is not done with, without us.
void ProxyEngine::leave_to_mpi(End& end) noexcept {
  for (MpiSlot& operation : end.operations) {
    if (!operation.active) continue;
    deactivate(operation);
    PMPI_Request_free(&operation.request);
    // MPI may still be at these.
    static_cast<void>(operation.buffer.release());
    end.leave_memory();
  }
}

bool ProxyEngine::owes_notices() const noexcept {
  return !notices_.all_sent() || std::any_of(ends_.begin(), ends_.end(), [this](const auto& each) {
    const End& end = *each.second;
    return end.owes_notice && !dead(end.peer);
  });
}

bool ProxyEngine::owes_messages() const noexcept {
  return std::any_of(active_.begin(), active_.end(), [this](const MpiSlot* operation) {
    const End& end = *operation->end;
    return operation->lasts && !operation->given_up && !end.closed_before(operation->epoch) &&
           !dead(end.peer);
  });
}

}  // namespace penstock::proxy
