// SPDX-License-Identifier: Apache-2.0
// How many threads and blocks serve a pair. The limits are measured (docs/performance.md).
#pragma once

#include "transport/peer/cuda/batch.hpp"

namespace penstock::transport::peer::cuda {

struct Shape {
  std::uint16_t blocks = 1;
  std::uint16_t threads = 32;
};

// Into how many parts a message is cut: the same number at both ends, so the receiver says it.
std::uint16_t parts_for(Route route, std::uint64_t bytes, unsigned most_blocks) noexcept;
// How much of a message each part has, in bytes, or in units of a ring.
std::uint64_t share_of(Route route, std::uint64_t bytes, unsigned parts) noexcept;

// `most_blocks` bounds kernels that only start.
Shape shape_of_start(const Pair& pair, unsigned most_blocks) noexcept;
Shape shape_of_wait(const Pair& pair, unsigned most_blocks) noexcept;

}  // namespace penstock::transport::peer::cuda
