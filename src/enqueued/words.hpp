// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "base/shared_word.hpp"
#include "protocol/epoch.hpp"

namespace penstock::enqueued {

using base::load, base::store;
using protocol::no_more;

// What a queue's stream and the engine tell each other, in bundles, counted from 1. In memory that
// both address; zero at first.
struct QueueWords {
  // The stream's. Release, and acquire by the engine: the program's buffers before MPI fetches
  // them.
  alignas(64) std::uint64_t triggered;  // k: the stream has triggered bundle k
  // Of streams of a GPU alone:
  std::uint64_t taken;    // k: what came for bundles up to k is in the program's buffers; release
  std::uint64_t gave_up;  // k: a wait for bundles up to k has failed, and none will copy for them
  std::uint64_t awaited;  // k: a wait for bundles up to k lasts
  // Where a wait has failed by a message that its receive cannot hold: which one
  // (StagedMessage::end), and how long it is. Before the kernel reports that.
  std::uint64_t too_long;
  std::uint64_t too_long_bytes;
  // The engine's. Release, and acquire by the stream: received data before work behind the wait.
  // k: bundles up to k have ended; it is stored only while no message that the engine moves is
  // under way. no_more: the queue has failed, and nothing moves its buffers any more.
  alignas(64) std::uint64_t completed;
  // k: of the first k receives that threads of the program copy none is under way.
  std::uint64_t copied;
  std::uint32_t passed;  // the lower half of `completed`, for waits of a stream without a kernel
};

// Waits that a GPU's stream makes without a kernel go on, for bundles up to this one.
inline void let_pass(QueueWords& words, std::uint64_t bundle) noexcept {
  std::atomic_ref(words.passed)
      .store(static_cast<std::uint32_t>(bundle), std::memory_order_release);
}

}  // namespace penstock::enqueued
