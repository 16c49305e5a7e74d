// SPDX-License-Identifier: Apache-2.0
// From an MPI_Request to what we know of it. Found on every enqueue, so reading takes no lock; MPI
// reuses handles, so recording a handle again replaces the entry.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/recording.hpp"

namespace penstock::core {

class MatchedRequest;

using Handle = std::uintptr_t;  // the bits of an MPI_Request

class Registry {
 public:
  // A process has one, which get() finds; others are of ranks that are simulated.
  Registry();
  ~Registry();  // with no request in it

  // There before initialisation, too, and before the library's own initialisers: those of other
  // libraries may call MPI.
  static Registry& get() noexcept {
    Registry* const made = made_.load(std::memory_order_acquire);
    return made != nullptr ? *made : make();
  }

  // Keeps the recording of a new request. Any thread.
  void record(Handle handle, Recording recording);
  // The request behind a handle, or null. Any thread, no lock.
  MatchedRequest* find(Handle handle) const noexcept;
  // Takes the entry of a request out that was freed behind our back, as MPI has given its handle to
  // a new one. What a queue or a match still refers to is left alone.
  void discard(Handle handle);
  // Takes the entry out and gives it to the caller: null if there was none.
  MatchedRequest* remove(Handle handle);
  // The same with some entry, null when none is left. `from`: 0 at first, and kept from call to
  // call.
  MatchedRequest* remove_any(std::size_t& from) noexcept;

 private:
  static inline constinit std::atomic<Registry*> made_{nullptr};
  static Registry& make() noexcept;

  struct Slot;
  struct Table;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock::core
