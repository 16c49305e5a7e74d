// SPDX-License-Identifier: Apache-2.0
// The lanes of one envelope that kernels use: in memory of the receiver's GPU. What engines need of
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "base/no_copy.hpp"
#include "protocol/lane.hpp"

namespace penstock::enqueued {

class DeviceLanes : private base::NoCopy {
 public:
  virtual ~DeviceLanes() = default;

  // ---- Of receives: for messages that no kernel looks for. They ask the driver, and so take many
  // microseconds. Throw base::Error.
  // How many bytes the message has, where it lies in a lane.
  virtual std::optional<std::uint64_t> look(protocol::lane::Number) { return std::nullopt; }
  // Takes a message out which lies in a lane: its first `bytes`, to memory of any kind.
  virtual void take(protocol::lane::Number, std::byte* /*to*/, std::uint64_t /*bytes*/) {}
};

// The memory of this process's GPUs that lanes lie in, and that of others: one for all promises,
// and for good, since giving memory back waits for a device, which may wait for us.
class LaneMemory : private base::NoCopy {
 public:
  virtual ~LaneMemory() = default;
};
struct LaneMemoryPlace {
  std::mutex mutex;
  std::unique_ptr<LaneMemory> memory;  // null: not made yet
};

}  // namespace penstock::enqueued
