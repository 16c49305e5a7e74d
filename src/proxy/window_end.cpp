// SPDX-License-Identifier: Apache-2.0
#include "proxy/window_end.hpp"

#include <fmt/format.h>

#include <utility>

#include "proxy/engine.hpp"

namespace penstock::proxy {

WindowEnd::WindowEnd(const EndKey& name, int its_tag, std::size_t fixed_slots,
                     MPI_Comm communicator)
    : End(name, its_tag, fixed_slots + apart_at_once),
      communicator_(communicator),
      fixed_slots_(fixed_slots) {}

std::string WindowEnd::describe_given_up() const {
  return fmt::format("given up; waits for rank {} to answer, or for MPI to end what it has begun",
                     peer);
}

// They are begun in the same order at both ends, so that the earliest one always ends.
MpiSlot* WindowEnd::place_apart() noexcept {
  MpiSlot& slot = operations[fixed_slots_ + apart_begun_ % apart_at_once];
  return slot.active ? nullptr : &slot;
}

void WindowEnd::begin_apart(std::size_t bytes, bool receives, ProxyEngine& engine) noexcept {
  MpiSlot& slot = *place_apart();
  slot.epoch = issued;
  slot.bytes = bytes;
  slot.receives = receives;
  has_received_ = has_received_ || receives;
  ++apart_begun_;
  ++apart_under_way_;
  engine.begin(slot);
}

bool WindowEnd::ends_at_once(MpiSlot& slot, ProxyEngine& engine) noexcept {
  int ended = 0;
  if (const int code = PMPI_Test(&slot.request, &ended, MPI_STATUS_IGNORE); code != MPI_SUCCESS) {
    fail(slot.receives ? "proxy: the receive failed" : "proxy: the send failed", code);
    return false;
  }
  slot.epoch = issued;
  if (ended == 0) engine.begin(slot);
  return ended != 0;
}

// A peer that PENSTOCK_TIMEOUT has let go may have overwritten what MPI fetched. Its notice left
// before that, over the same communicator, so it is looked for before the epoch counts.
void WindowEnd::finish_epoch(ProxyEngine& engine) noexcept {
  if (std::exchange(has_received_, false)) engine.take_notices();
  completed.store(issued, std::memory_order_release);
}

}  // namespace penstock::proxy
