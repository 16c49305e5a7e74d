// SPDX-License-Identifier: Apache-2.0
#include "transport/peer/pair_plan.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <exception>

namespace penstock::transport::peer {

using base::Error;
using base::ErrorKind;

PairPlan::PairPlan(Pair pair, std::uint64_t& closed_by_us, std::uint64_t& closed_by_peer)
    : closed_by_us_(closed_by_us),
      closed_by_peer_(closed_by_peer),
      peer_(pair.peer),
      peer_dead_(*pair.peer_dead),
      holding_(std::move(pair.holding)),
      retired_(*pair.retired),
      path_(std::move(pair.path)) {}

PairPlan::~PairPlan() {
  retired_.add(std::move(holding_), &closed_by_peer_);
}

bool PairPlan::peer_closed(Epoch epoch) const noexcept {
  // Acquire: what the peer did before it closed is seen with it.
  return protocol::closed_before(std::atomic_ref(closed_by_peer_).load(std::memory_order_acquire), epoch);
}

// The peer may reuse its block once this has come and it has closed too: nothing may be stored there afterwards.
void PairPlan::close_at(Epoch first_not_served) noexcept {
  if (closed_) return;
  closed_ = true;
  std::atomic_ref(closed_by_us_).store(first_not_served, std::memory_order_release);
}

void PairPlan::spoil() noexcept {
  if (closed_) return;
  keep_peer_from_copying(done() + 1);
  close_at(done() + 1);
}

std::string PairPlan::describe() const {
  const Epoch epoch = shown_epoch_.load(std::memory_order_relaxed);
  return fmt::format("epoch {}, {}, waits for {}", epoch, path_, missing(epoch));
}

std::optional<Error> PairPlan::why_hopeless(Epoch epoch) const {
  if (peer_closed(epoch)) return peer_freed(epoch);
  if (peer_dead_.load(std::memory_order_acquire))
    return Error(ErrorKind::peer_dead, fmt::format("rank {} has ended before epoch {}", peer_, epoch));
  return std::nullopt;
}

Error PairPlan::peer_freed(Epoch epoch) const {
  return Error(ErrorKind::peer_freed,
               fmt::format("rank {} has freed its request, or given it up, before epoch {}", peer_, epoch));
}

Error PairPlan::copy_failed(int error) const {
  if (error == ESRCH) return Error(ErrorKind::peer_dead, fmt::format("rank {} has ended during a copy", peer_));
  return Error(ErrorKind::transport,
               fmt::format("cross-memory copy with rank {} failed: {} (PENSTOCK_CMA=0 does without)", peer_,
                           std::strerror(error)));
}

}  // namespace penstock::transport::peer
