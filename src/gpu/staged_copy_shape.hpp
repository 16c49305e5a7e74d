// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

namespace penstock::gpu {

// The blocks that copy a message between a device and pinned memory, and the threads of each. Few
// blocks fill the link, and those of a kernel that waits keep their places meanwhile.
struct StagedCopyShape {
  static constexpr unsigned most_threads = 512;
  static constexpr unsigned most_blocks = 8;
  // The blocks of one kernel together.
  static constexpr unsigned most_blocks_together = 32;

  explicit StagedCopyShape(std::uint64_t bytes) noexcept {
    constexpr std::uint64_t bytes_a_thread = 16, bytes_a_block = 64 * 1024;
    const std::uint64_t wanted = (bytes + bytes_a_block - 1) / bytes_a_block;
    blocks = static_cast<std::uint16_t>(std::clamp<std::uint64_t>(wanted, 1, most_blocks));
    const std::uint64_t lanes = (bytes / bytes_a_thread + 31) / 32 * 32;
    threads = static_cast<std::uint16_t>(std::clamp<std::uint64_t>(lanes, 32, most_threads));
  }

  std::uint16_t blocks;
  std::uint16_t threads;
};

// That of one kernel for all of them.
struct StagedGrid {
  unsigned blocks = 0;
  unsigned threads = 32;
};

template <class Work>
StagedGrid grid_of(std::span<const Work> works) noexcept {
  StagedGrid grid;
  for (const Work& each : works) {
    grid.blocks += each.blocks;
    grid.threads = std::max<unsigned>(grid.threads, each.threads);
  }
  return grid;
}

}  // namespace penstock::gpu
