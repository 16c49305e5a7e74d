// SPDX-License-Identifier: Apache-2.0
// What the relay's kernels work on: one half of a pair, fixed at match, carried by value in every
// launch.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/words.hpp"
#include "relay/words.hpp"

namespace penstock::relay {

using gpu::Word64;

struct Post {
  RelayWords* words = nullptr;
  // A message in memory of a device that the host's thread does not read has a copy in pinned
  // memory, and a count that its blocks share, on the device. Null: nothing is copied.
  std::byte* staging = nullptr;
  Word64* arrivals = nullptr;
  std::byte* buffer = nullptr;
  std::uint64_t bytes = 0;
  std::uint32_t id = 0;  // in reports
  std::uint16_t blocks = 1;
  std::uint16_t threads = 32;  // of a block, at least
  bool sends = false;
};

// The blocks and threads that copy a message.
void shape(Post& post) noexcept;

}  // namespace penstock::relay
