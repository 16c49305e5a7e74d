// SPDX-License-Identifier: Apache-2.0
#include "core/registry.hpp"

#include <atomic>
#include <bit>
#include <mutex>
#include <vector>

#include "core/matched_request.hpp"

namespace penstock::core {

namespace {

std::size_t spread(Handle handle) noexcept {
  // Handles are consecutive numbers (MPICH) or aligned addresses (Open MPI): multiply, use the
  // upper bits.
  return static_cast<std::size_t>((handle * 0x9e3779b97f4a7c15u) >> 20);
}

}  // namespace

struct Registry::Slot {
  std::atomic<Handle> handle{0};  // 0: never used. No MPI gives a live request the bits 0.
  std::atomic<MatchedRequest*> request{nullptr};
};

// Open addressing. A slot whose request is null is dead: probes pass it, and another handle may
// take it.
struct Registry::Table {
  explicit Table(std::size_t size) : slots(size) {}
  Slot& at(std::size_t place) noexcept { return slots[place & (slots.size() - 1)]; }

  // Makes dead slots before a never used one never used again: nothing is found beyond them.
  // Without this a program whose handles are ever new would fill the table with dead slots, and
  // every look for an absent handle would pass all.
  void clear_dead_before_unused(std::size_t place) noexcept {
    for (std::size_t steps = 0; steps < slots.size(); ++steps, --place) {
      Slot& slot = at(place);
      if (at(place + 1).handle.load(std::memory_order_relaxed) != 0) return;
      if (slot.request.load(std::memory_order_relaxed) ||
          slot.handle.load(std::memory_order_relaxed) == 0)
        return;
      slot.handle.store(0, std::memory_order_release);
    }
  }

  void put(Handle handle, MatchedRequest* request) noexcept {
    Slot* free = nullptr;  // there is one: at most half of the slots are live
    for (std::size_t place = spread(handle), end = place + slots.size(); place != end; ++place) {
      Slot& slot = at(place);
      const Handle found = slot.handle.load(std::memory_order_relaxed);
      if (found == handle) {
        free = &slot;
        break;
      }
      if (!free && (found == 0 || !slot.request.load(std::memory_order_relaxed))) free = &slot;
      if (found == 0) break;
    }
    free->handle.store(handle, std::memory_order_release);
    free->request.store(request, std::memory_order_release);
  }

  std::vector<Slot> slots;  // a power of two of them
};

struct Registry::State {
  std::mutex mutex;  // writers
  std::atomic<Table*> table;
  std::vector<std::unique_ptr<Table>> tables;  // the old ones too: a reader may still be in one.
                                               // Together at most as large as the newest
  std::size_t live = 0;
};

Registry::Registry() : state_(std::make_unique<State>()) {
  state_->tables.push_back(std::make_unique<Table>(1024));
  state_->table.store(state_->tables.back().get(), std::memory_order_release);
}

Registry::~Registry() = default;

// Never destroyed: requests may be freed as late as in MPI_Finalize.
[[gnu::cold]] Registry& Registry::make() noexcept {
  static Registry& registry = *new Registry;
  made_.store(&registry, std::memory_order_release);
  return registry;
}

namespace {

// When the library is loaded, since a call of MPI that asks for it has no error for want of memory.
[[maybe_unused]] const Registry& made_at_load = Registry::get();

}  // namespace

MatchedRequest* Registry::find(Handle handle) const noexcept {
  if (handle == 0) return nullptr;
  Table& table = *state_->table.load(std::memory_order_acquire);
  for (std::size_t place = spread(handle), end = place + table.slots.size(); place != end;
       ++place) {
    Slot& slot = table.at(place);
    const Handle found = slot.handle.load(std::memory_order_acquire);
    if (found == 0) return nullptr;
    if (found != handle) continue;
    MatchedRequest* request = slot.request.load(std::memory_order_acquire);
    // The slot may have been given to another handle between the two loads.
    return slot.handle.load(std::memory_order_acquire) == handle ? request : nullptr;
  }
  return nullptr;
}

void Registry::discard(Handle handle) {
  if (!find(handle)) return;  // mostly, and without a lock
  if (MatchedRequest* stale = remove(handle); stale && !stale->in_use())
    MatchedRequest::close(stale);
}

void Registry::record(Handle handle, Recording recording) {
  discard(handle);
  auto request = std::make_unique<MatchedRequest>(std::move(recording));
  const std::lock_guard lock(state_->mutex);
  Table* table = state_->table.load(std::memory_order_relaxed);
  if ((state_->live + 1) * 2 > table->slots.size()) {
    auto larger = std::make_unique<Table>(table->slots.size() * 2);
    for (Slot& slot : table->slots)
      if (MatchedRequest* moved = slot.request.load(std::memory_order_relaxed))
        larger->put(slot.handle.load(std::memory_order_relaxed), moved);
    table = larger.get();
    state_->tables.push_back(std::move(larger));
  }
  table->put(handle, request.release());
  state_->table.store(table, std::memory_order_release);
  ++state_->live;
}

MatchedRequest* Registry::remove(Handle handle) {
  const std::lock_guard lock(state_->mutex);
  Table& table = *state_->table.load(std::memory_order_relaxed);
  for (std::size_t place = spread(handle), end = place + table.slots.size(); place != end;
       ++place) {
    Slot& slot = table.at(place);
    const Handle found = slot.handle.load(std::memory_order_relaxed);
    if (found == 0) return nullptr;
    if (found != handle) continue;
    MatchedRequest* request = slot.request.exchange(nullptr, std::memory_order_acq_rel);
    if (request) --state_->live;
    table.clear_dead_before_unused(place);
    return request;
  }
  return nullptr;
}

MatchedRequest* Registry::remove_any(std::size_t& from) noexcept {
  const std::lock_guard lock(state_->mutex);
  auto& slots = state_->table.load(std::memory_order_relaxed)->slots;
  for (; from < slots.size(); ++from) {
    MatchedRequest* const request =
        slots[from].request.exchange(nullptr, std::memory_order_acq_rel);
    if (request == nullptr) continue;
    --state_->live;
    return request;
  }
  return nullptr;
}

}  // namespace penstock::core
