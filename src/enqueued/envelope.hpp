// SPDX-License-Identifier: Apache-2.0
// The messages from one rank to another with one tag, on a communicator whose messages are enqueued
// at both ends: both count them, so that they need no matching.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/no_copy.hpp"
#include "enqueued/device_lanes.hpp"
#include "enqueued/envelope_line.hpp"
#include "peer/lane_board.hpp"
#include "plan/active_list.hpp"
#include "transport/message.hpp"

namespace penstock::enqueued {

class Promise;

struct EnvelopeKey {
  Promise* promise = nullptr;
  transport::Direction direction = transport::Direction::send;
  int peer = 0;
  int tag = 0;
  bool operator==(const EnvelopeKey&) const = default;
};

struct HashEnvelope {
  std::size_t operator()(const EnvelopeKey& key) const noexcept {
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
    const auto peer = static_cast<std::uint64_t>(key.peer) * 2 +
                      (key.direction == transport::Direction::send ? 0 : 1);
    const auto end = (peer + reinterpret_cast<std::uintptr_t>(key.promise)) * odd;
    return static_cast<std::size_t>((end ^ static_cast<std::uint64_t>(key.tag)) * odd >> 8);
  }
};

struct Envelope : plan::ActiveItem, private base::NoCopy {
  Envelope(const EnvelopeKey& its_key, bool in_memory) noexcept
      : promise(*its_key.promise), key(its_key), by_lanes(in_memory) {}

  Promise& promise;
  const EnvelopeKey key;
  const bool by_lanes;  // else by MPI, to which both ends hand its messages in the same order
  std::atomic<std::uint64_t> triggered{0};  // messages, in the order of the calls
  std::atomic<std::size_t> lane_bytes{0};   // receives: largest message that has a lane; 0: none
  // `sent`: the last message that is on its way; of sends, and of receives that MPI brings, which
  // both go in the order of their numbers. `lost`: the first one that was lost with a failed queue;
  // none behind it goes. 0: none.
  std::atomic<std::uint64_t> sent{0}, lost{0};
  // For kernels; null: none. It stays; the promise owns it.
  std::atomic<DeviceLanes*> on_device{nullptr};
  // ---- Under the engine's lock
  EnvelopeLine line;
  std::vector<peer::Lane> lanes;  // receives: newest last; sends: the newest, if there is one
  peer::LaneSearch search;        // sends
  unsigned looks = 0;             // of the engine, into lanes of a GPU
  // ---- Under the promise's
  std::unique_ptr<DeviceLanes> device_lanes;
  peer::LaneSearch device_search;  // sends

  bool keeps_order() const noexcept {
    return !by_lanes || key.direction == transport::Direction::send;
  }
  void lose(std::uint64_t number) noexcept {
    std::uint64_t first = lost.load(std::memory_order_relaxed);
    while ((first == 0 || number < first) &&
           !lost.compare_exchange_weak(first, number, std::memory_order_relaxed)) {
    }
  }
  bool goes_no_more(std::uint64_t number) const noexcept {
    const std::uint64_t first = lost.load(std::memory_order_relaxed);
    return first != 0 && number > first;
  }
};

}  // namespace penstock::enqueued
