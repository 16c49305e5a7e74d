// SPDX-License-Identifier: Apache-2.0
#include "peer/pair_end.hpp"

#include <fmt/format.h>

#include <exception>

#include "plan/broken_promise.hpp"
#include "plan/peer_closed.hpp"

namespace penstock::peer {

using base::Error;
using base::ErrorKind;

PairEnd::PairEnd(Pair pair, const std::uint64_t& closed_by_peer)
    : closed_by_peer_(closed_by_peer),
      peer_(pair.peer),
      peer_dead_(*pair.peer_dead),
      segments_(std::move(pair.segments)),
      other_segments_(std::move(pair.other_segments)),
      holding_(std::move(pair.holding)),
      retired_(*pair.retired),
      path_(std::move(pair.path)),
      window_(pair.window),
      lasting_copy_(pair.peer, *pair.peer_dead, pair.timeout) {}

PairEnd::~PairEnd() {
  retired_.add(std::move(holding_), &closed_by_peer_, &peer_dead_);
}

std::optional<Error> PairEnd::why_hopeless(protocol::Epoch epoch, bool peer_closed) const {
  if (peer_closed) return closed_error(epoch);
  if (peer_dead_.load(std::memory_order_acquire)) return plan::dead_error(peer_, epoch);
  return std::nullopt;
}

std::optional<Error> PairEnd::why_not_started(StartOutcome outcome, protocol::Epoch epoch) const {
  switch (outcome) {
    case StartOutcome::started:
      break;
    case StartOutcome::peer_closed:
      return closed_error(epoch);
    case StartOutcome::no_buffer:
      return Error(ErrorKind::buffer,
                   "the receiver has taken none of the buffered messages: let it catch up, or "
                   "raise PENSTOCK_SLOTS");
    case StartOutcome::receiver_not_started:
      return Error(ErrorKind::ready, window_ ? plan::broken_promise
                                             : "ready send started before its receive: use a "
                                               "standard send, or order the start");
  }
  return std::nullopt;
}

Error PairEnd::closed_error(protocol::Epoch epoch) const {
  if (!window_) return plan::peer_closed_error(peer_, epoch);
  return Error(
      ErrorKind::peer_freed,
      fmt::format("rank {} has freed the window, given it up after an error, which its log "
                  "tells, or called MPI_Finalize, and epoch {} here has none there: free "
                  "the window on all its members, and make a new one",
                  peer_, epoch));
}

}  // namespace penstock::peer
