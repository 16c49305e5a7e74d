// SPDX-License-Identifier: Apache-2.0
// The engine's end, inside MPI_Finalize.
#include <fmt/format.h>

#include <algorithm>

#include "base/log.hpp"
#include "ofi/engine.hpp"

namespace penstock::ofi {

using base::ErrorKind;

OfiEngine::~OfiEngine() {
  stop_thread();
  const std::lock_guard lock(progress_lock_);
  for (const auto& end : ends_) {
    const protocol::Epoch served = end->buffered() ? end->started() : end->completed();
    end->tell(served + 1, ErrorKind::peer_freed);
    list(*end);
  }
  end_with_others();
  base::log::failures_in([&] {
    const auto seen = deferred_.statistics();
    base::log::info(
        fmt::format("ofi ({}): {} starts posted, {} of them waited for entries, at "
                    "most {} entries of {} at once; {} starts carried out without",
                    fabric_.provider(), seen.posted, seen.throttled, seen.most_in_use,
                    options_.entries, taken_over_));
  });
  fabric_.close_endpoint();
  ends_.clear();
}

bool OfiEngine::owes_notices() const noexcept {
  return std::any_of(ends_.begin(), ends_.end(),
                     [this](const auto& end) { return end->owes_notice() && !dead(end->peer); });
}

bool OfiEngine::owes_messages() const noexcept {
  return std::any_of(ends_.begin(), ends_.end(), [this](const auto& end) {
    const protocol::Epoch last = end->started();
    return end->buffered() && !end->complete(last) && !end->broken(last) && !dead(end->peer);
  });
}

}  // namespace penstock::ofi
