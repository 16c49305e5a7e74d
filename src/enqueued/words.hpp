// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "protocol/epoch.hpp"

namespace penstock::enqueued {

using protocol::no_more;

// What a queue's stream and the engine tell each other, in bundles, counted from 1. In memory that
// both address; zero at first.
struct QueueWords {
  // The stream's. Release, and acquire by the engine: the program's buffers before MPI fetches
  // them.
  alignas(64) std::uint64_t triggered;  // k: the stream has triggered bundle k
  // Streams of a GPU alone write these. k: what came for the first k bundles is in the program's
  // buffers; release. k: a wait for the first k lasts.
  std::uint64_t taken;
  std::uint64_t awaited;
  // The engine's. k: the first k bundles have ended; no_more: the queue has failed, and nothing
  // moves its buffers. It moves only when none of these is under way. Release, and acquire by the
  // stream: received data before work behind the wait.
  alignas(64) std::uint64_t completed;
  // Its lower half, for waits that a GPU's stream makes without a kernel. Behind a failure it lets
  // all of them pass.
  std::uint32_t passed;
};

inline std::uint64_t load(const std::uint64_t& word) noexcept {
  return std::atomic_ref(const_cast<std::uint64_t&>(word)).load(std::memory_order_acquire);
}
inline void store(std::uint64_t& word, std::uint64_t value) noexcept {
  std::atomic_ref(word).store(value, std::memory_order_release);
}

}  // namespace penstock::enqueued
