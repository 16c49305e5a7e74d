// SPDX-License-Identifier: Apache-2.0
// The engine's end, inside MPI_Finalize: what is owed is delivered, the rest is given up, and
// nobody stops making progress while others still need it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/log.hpp"
#include "ofi/engine.hpp"

namespace penstock::ofi {

using base::ErrorKind;

namespace {

using std::chrono::steady_clock;

}  // namespace

OfiEngine::~OfiEngine() {
  thread_.stop();
  const std::lock_guard lock(progress_lock_);
  for (const auto& end : ends_) {
    const protocol::Epoch served =
        end->buffered() ? end->started.load(std::memory_order_relaxed) : end->completed();
    end->tell(served + 1, ErrorKind::peer_freed);
    list(*end);
  }
  deliver();
  if (!part()) say_farewell();
  const auto seen = deferred_.statistics();
  base::log::info(
      fmt::format("ofi ({}): {} starts posted, {} of them waited for entries, at most {} entries "
                  "of {} at once; "
                  "{} starts carried out without",
                  fabric_.provider(), seen.posted, seen.throttled, seen.most_in_use,
                  options_.entries, taken_over_));
  fabric_.close_endpoint();
  ends_.clear();
}

// As MPI_Finalize does for MPI_Bsend, buffered messages are delivered before the end, to all who
// can still receive them.
void OfiEngine::deliver() noexcept {
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

// Nobody stops making progress while others may wait for a message or a notice. When all have come
// here nobody does any more: true. Ends early when a process has died, or has not come within
// PENSTOCK_TIMEOUT.
bool OfiEngine::part() noexcept {
  if (world_.given_up()) return false;
  const auto began = steady_clock::now();
  return world_.part([] { return true; },
                     [&] {
                       pass(nullptr);
                       const bool late = options_.timeout.count() > 0 &&
                                         steady_clock::now() - began > options_.timeout;
                       return !late && !world_.anybody_dead();
                     });
}

// There is no point at which all who are left have heard of our end, and the provider, which may
// have no room for a process that is cut off, does not tell that it never will. So this has a
// limit, of its own.
void OfiEngine::say_farewell() noexcept {
  constexpr auto farewell = std::chrono::seconds(1);
  const auto waited_for = [this](const auto& end) {
    return end->owes_notice() && !dead(end->peer);
  };
  for (const auto began = steady_clock::now(); steady_clock::now() - began < farewell;
       std::this_thread::yield()) {
    if (std::none_of(ends_.begin(), ends_.end(), waited_for)) return;
    pass(nullptr);
  }
}

bool OfiEngine::owes_messages() const noexcept {
  return std::any_of(ends_.begin(), ends_.end(), [this](const auto& end) {
    const protocol::Epoch last = end->started.load(std::memory_order_relaxed);
    return end->buffered() && !end->complete(last) && !end->broken(last) && !dead(end->peer);
  });
}

}  // namespace penstock::ofi
