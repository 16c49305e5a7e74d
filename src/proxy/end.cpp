// SPDX-License-Identifier: Apache-2.0
#include "proxy/end.hpp"

#include <algorithm>

#include "plan/peer_closed.hpp"
#include "protocol/giving_up.hpp"
#include "proxy/mpi_call.hpp"

namespace penstock::proxy {

End::End(const EndKey& name, int its_tag, std::size_t slots)
    : direction(name.direction), peer(name.peer), pair(name.pair), tag(its_tag), operations(slots) {
  last_notice.end = query.end = this;
  for (MpiSlot& slot : operations) slot.end = this;
}

std::optional<base::Error> End::broken(protocol::Epoch epoch) const {
  // What the peer has done explains what MPI says.
  if (closed_before(epoch)) return plan::peer_closed_error(closed_reason_, peer);
  if (const base::Error* error = failure.get()) return *error;
  return std::nullopt;
}

void End::fail(const char* what, int code) noexcept {
  poisoned = true;
  fail(mpi_error(what, code));
}

void End::peer_closed(const Notice& theirs) noexcept {
  if (closed.load(std::memory_order_relaxed) != 0) return;
  closed_reason_ = static_cast<base::ErrorKind>(theirs.reason);
  messages = theirs.messages;
  closed.store(theirs.closed, std::memory_order_release);
}

void End::free_requests() noexcept {
  for (MpiSlot& slot : operations)
    if (!slot.active && slot.request != MPI_REQUEST_NULL) PMPI_Request_free(&slot.request);
}

bool End::any_active() const noexcept {
  return std::any_of(operations.begin(), operations.end(),
                     [](const MpiSlot& slot) { return slot.active; });
}

bool End::receiving() const noexcept {
  return std::any_of(operations.begin(), operations.end(),
                     [](const MpiSlot& slot) { return slot.active && slot.receives; });
}

bool End::sending() const noexcept {
  return std::any_of(operations.begin(), operations.end(), [](const MpiSlot& slot) {
    return slot.active && !slot.receives && !slot.lasts;
  });
}

bool End::untouched() const noexcept {
  return !receiving() && protocol::send_is_untouched(sending(), answered);
}

}  // namespace penstock::proxy
