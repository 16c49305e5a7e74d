// SPDX-License-Identifier: Apache-2.0
// Memory of this process that others of the host may use, and theirs that this one may. Pairs use
// it for buffers; it knows nothing of pairs.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "peer/arena.hpp"

namespace penstock::peer {

// This record travels in handshakes.
struct MemoryRecord {
  std::uint64_t address = 0;   // in its own process
  std::uint32_t in_arena = 0;  // then `place` says where
  std::uint32_t padding = 0;
  ArenaAddress place;
};

struct ExposedMemory {
  MemoryRecord record;
  std::shared_ptr<const void> kept;  // keeps memory of PST_Alloc_mem from serving another user
};

// We reach it by an address of ours, or the kernel copies it from or to the other process.
struct RemoteMemory {
  std::uint64_t address = 0;
  pid_t process = 0;  // 0: `address` is ours
  // Becomes true when the process has ended, whose number may be another's then.
  const std::atomic<bool>* dead = nullptr;
};

}  // namespace penstock::peer
